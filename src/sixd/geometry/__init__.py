"""Pieces that show bodies and joints: meshes, sticks, solids of inertia; used by the viewer and by drawings."""
