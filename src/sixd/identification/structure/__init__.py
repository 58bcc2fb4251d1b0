"""Standard parameters, and which sums of them matter."""
