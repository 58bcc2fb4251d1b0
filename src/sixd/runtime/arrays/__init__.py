"""Arrays of NumPy and of other libraries, on the CPU and on GPUs: one file for each library."""
