"""Structures of spatial_v2: models, drawing instructions, arguments in MATLAB's shapes."""
