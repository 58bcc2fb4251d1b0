"""Distance of two convex shapes, contact points and rays: the narrow phase, for one pair in one placement."""
