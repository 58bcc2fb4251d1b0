"""Force elements: springs, joint limits, compliant ground."""
