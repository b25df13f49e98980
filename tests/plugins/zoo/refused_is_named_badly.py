"""Has a name that is none."""

from faults.animal import Animal


class NamedBadly(Animal):
    name = "../x [/red] \x1b[2J"
