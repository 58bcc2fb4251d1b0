"""Programs as LLVM code: for one state, for batches, and for rollouts."""
