"""Drawings of mechanisms as figures in a textbook: SVG made from the model."""
