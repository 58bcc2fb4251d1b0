"""Structures of spatial_v2: models, drawing instructions, MATLAB-shaped arguments."""
