"""LLVM code of programs: for one state, for batches, and for rollouts."""
