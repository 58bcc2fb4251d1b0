"""Analytic derivatives of dynamics, kinematics, momentum and energy."""
