"""Impulses held in fixed steps: dry friction, rigid limits and rigid contact."""
