"""MJCF files: read through MuJoCo's own compiler."""
