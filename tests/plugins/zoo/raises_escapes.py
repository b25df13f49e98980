"""Raises a text that a terminal obeys, and a spreadsheet, and a browser."""

from faults.animal import Animal


class RaisesEscapes(Animal):
    name = "raises-escapes"

    def act(self, state):
        raise ValueError("=1+1 \x1b[2J\x1b]0;title\x07 \x9b31m [red]markup[/red] <script>alert(1)</script> \x00 \u202e")
