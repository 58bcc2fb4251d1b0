"""Small linear algebra on any scalar: factorizations and solutions unrolled over entries, without pivoting.

No branch depends on a value, so that all of it can be traced. ``dense``: matrices of a joint's size, masked rows, lists
of rows. ``tree``: LᵀL and LᵀDL with the sparsity of a tree. ``patterns``: any pattern of zeros. ``responses``: how
velocities respond to impulses on rows. ``active_set``: bounded quadratic problems on these rows.
"""
