"""Many simulations at once: draws and sweeps, chunks, processes and clusters."""
