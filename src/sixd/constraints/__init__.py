"""Kinds of constraints, and models reduced to the coordinates that explicit constraints leave independent."""
