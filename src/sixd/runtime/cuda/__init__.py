"""Compiled code on NVIDIA's GPUs: the driver, code loaded by it, arrays of other libraries, and calls with those."""
