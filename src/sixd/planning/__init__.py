"""Motions without collisions: bounds of motion, certified edges, search for paths, distances along motions."""
