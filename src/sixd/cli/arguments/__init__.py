"""Arguments and options that several commands share: robots, states, files."""
