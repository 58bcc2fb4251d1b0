"""Who computes it: sixd, Pinocchio, MuJoCo, CasADi and SymPy."""
