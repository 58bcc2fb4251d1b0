"""Actuators of a model: from their forces to joint forces, and back."""
