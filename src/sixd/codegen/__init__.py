"""Code from programs, for any function: one module or package per target, each built on a table of operations."""
