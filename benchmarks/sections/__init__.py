"""One module for each section of the report; each has a function ``measure(session)``."""
