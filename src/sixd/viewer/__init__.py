"""The viewer: mechanisms and their motions in a page of the browser, served on this machine or saved as a file.

``viewer`` has the public interface, ``scene`` and ``bodies`` make the contents of a page, ``page`` writes it from the
files in ``web``, and ``server`` serves it. The page itself computes the poses of the bodies.
"""

from sixd.viewer.pictures.pictures import picture
from sixd.viewer.viewer import Viewer, view
