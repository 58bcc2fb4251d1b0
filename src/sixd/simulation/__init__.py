"""Simulation: the motion of systems in time. ``simulate.py`` is the start, and says in which order the others work."""
