"""Machine code at run time: loading, calling, batches, threads and the cache. Knows no graph and no robot."""
