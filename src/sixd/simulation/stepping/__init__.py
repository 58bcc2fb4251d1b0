"""Steps in time: RK4, Euler, midpoint and adaptive methods, their compiled code, and the stability limits of steps."""
