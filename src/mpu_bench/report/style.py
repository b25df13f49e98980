"""How series are drawn, by matplotlib and on the page: colours, dashes and markers, told apart also in grey."""

from __future__ import annotations

#: after Okabe and Ito, which colour-blind eyes tell apart, dark enough to be read as text on white
COLOURS = ("#0072b2", "#c04a00", "#00795a", "#b0528a", "#8f6200", "#5b4fb3", "#1c1c1c", "#77771f", "#882255")
#: the same on a dark page
DARK_COLOURS = ("#56b4e9", "#ff9d5c", "#3ecf9f", "#e29ac4", "#f0c040", "#b3a8ff", "#e8e8e8", "#cccc66", "#dd88aa")
#: lengths of dashes and gaps in turn, in widths of the line; none is a solid line
DASHES = ((), (3.75, 1.875), (3.75, 1.875, 0.625, 1.875), (0.9375, 1.5625))
#: as matplotlib names them
MARKERS = "os^vDPX*<"
