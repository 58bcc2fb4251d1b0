"""Reports about models: likely mistakes in a model, and differences between two models."""
