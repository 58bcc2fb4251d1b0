"""Pages that simulate: the traced step of a system as JavaScript, its sliders, and what the page shows of it."""
