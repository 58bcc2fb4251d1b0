"""Newton's and Euler's equations body by body: numbers, closed forms, and the steps of the recursion as text."""
