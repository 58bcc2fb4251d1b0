"""Trajectories: motions in time, as arrays, files, tables and figures."""
