"""Robot descriptions to Model and back: URDF, SDF, MJCF, DH parameters, spatial_v2 structures."""
