"""Equations of motion in closed form: derived from a model or from energies, printed, linearized, as code."""
