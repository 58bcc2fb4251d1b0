"""The algorithms, one a file: short functions of (model, q, …) on one unbatched state of any scalar."""
