"""From a function and a system to machine code: declarations, requests, targets, compiled routines and kernels."""
