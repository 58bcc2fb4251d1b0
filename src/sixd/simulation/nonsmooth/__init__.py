"""Non-smooth time steps: dry friction that sticks, rigid joint limits, rigid contact with the ground."""
