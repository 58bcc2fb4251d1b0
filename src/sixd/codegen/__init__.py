"""Code from programs: one file per target, each little more than a table of operations. Knows no robot."""
