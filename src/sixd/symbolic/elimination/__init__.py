"""Elimination to independent coordinates."""
