"""Inverse kinematics: configurations and velocities that bring frames where they are wanted."""
