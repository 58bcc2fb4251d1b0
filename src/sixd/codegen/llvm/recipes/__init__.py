"""Recipes as functions of LLVM code: works in memory, rollouts, single steps."""
