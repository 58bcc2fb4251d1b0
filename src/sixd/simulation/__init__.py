"""Simulation: how systems move in time, and what is kept of it."""
