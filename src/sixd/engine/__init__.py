"""From a function and a system to machine code: declarations, requests, targets, and what is kept of them."""
