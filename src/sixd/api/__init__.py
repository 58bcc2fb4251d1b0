"""The public functions: free functions of a system and arrays, each declared once."""
