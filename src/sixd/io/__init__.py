"""Robot descriptions to Model and back: URDF, MJCF, DH rows, spatial_v2 structures."""

from sixd.io.dh import from_dh
from sixd.io.load import load
from sixd.io.urdf_write import to_urdf
