"""Reports about models: what is doubtful in one, and how two differ."""
