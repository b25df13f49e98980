"""Lets its process open no more files and take no more memory."""

import resource

from faults.animal import Animal


class LimitsItself(Animal):
    name = "limits-itself"

    def act(self, state):
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
        resource.setrlimit(resource.RLIMIT_AS, (1 << 20, 1 << 20))
