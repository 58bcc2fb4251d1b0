"""Derivatives of motions: of one step, and of a cost along many steps."""
