"""The viewer: mechanisms and their motions in a page of the browser, served on this machine or saved as a file.

``viewer`` has the public interface, ``scene`` makes the contents of a page, ``live`` its simulation, ``page`` writes it
from the files in ``web``, and ``server`` serves it. ``pictures`` draws without a window.
"""
