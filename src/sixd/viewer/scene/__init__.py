"""The contents of a page: bodies, motions and plots, packed as one JSON object."""
