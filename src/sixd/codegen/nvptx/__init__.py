"""Programs as PTX, the assembly language of NVIDIA's GPUs: a kernel around the same LLVM code, one row a thread."""
