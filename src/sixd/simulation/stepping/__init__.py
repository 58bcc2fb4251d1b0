"""Steps in time: fixed and adaptive methods, their compiled code, and how long a step may be."""
