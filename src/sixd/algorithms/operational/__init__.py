"""Dynamics seen at frames: operational-space inertia, bias force, consistent inverses and null spaces."""
