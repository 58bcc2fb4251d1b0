"""Looking at mechanisms and their motions: one page of the browser, served on this machine or saved as a file.

``scene`` says what there is to see, ``page`` shows it; a page computes body poses by itself.
"""

from sixd.viewer.viewer import Viewer, view
