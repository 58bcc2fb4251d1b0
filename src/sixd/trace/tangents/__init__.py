"""Recipes with tangents: derivatives of steps along many directions at once."""
