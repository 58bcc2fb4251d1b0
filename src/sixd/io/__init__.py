"""Robot descriptions to Model and back: URDF, MJCF, DH parameters, spatial_v2 structures."""

from sixd.io.dh import from_dh
from sixd.io.loading import load
from sixd.io.mjcf.writer import to_mjcf
from sixd.io.urdf.writer import to_urdf
