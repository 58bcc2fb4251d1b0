"""What users call: free functions of a system and arrays, each declared once."""
