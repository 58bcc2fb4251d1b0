"""What users write after a command: robots, states, places of files."""
