"""Solvers from a Python file of the user's own, a plugin.

Such a file is code with the rights of whoever runs it. `importing` imports it: in a worker, to make runs, and in a
child process that says which solvers it defines (`description`) and what they refuse (`answers`). In the process that
reads a config (`process`) a stand-in with the same parameters takes the place of each solver.
"""
