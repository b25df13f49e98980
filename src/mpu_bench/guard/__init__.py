"""Child processes under guard: for runs, for ``try`` and for plugins.

`process` is a child as its parent sees it, `messages` the end that the child has of their connection, and `supervisor`
the process between the two. `system` is what they ask of the operating system.
"""
