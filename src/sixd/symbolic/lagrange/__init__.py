"""Equations of motion from energies."""
