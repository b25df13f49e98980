"""Raises what nothing can print when it is imported."""


class Unspeakable(BaseException):
    def __str__(self):
        return "\ud800 \x1b[2J [/red]"


raise Unspeakable
