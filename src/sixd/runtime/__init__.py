"""Machine code at run time: loading, calling, batches, threads and the cache; independent of graphs and robots."""
