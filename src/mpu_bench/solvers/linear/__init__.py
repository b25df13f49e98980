"""Solvers of the linear L1-SVM without bias: the weight vector is kept, a step costs the non-zeros of one row."""
