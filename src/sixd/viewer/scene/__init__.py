"""What a page shows: bodies, motions and plots, packed as one JSON object."""
