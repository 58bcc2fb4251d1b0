"""Actuators on a model: from their forces to joint forces, and back."""
