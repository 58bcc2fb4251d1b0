"""Equations of motion in closed form."""
