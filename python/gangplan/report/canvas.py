"""The canvas of all figures: colours for everyone's eyes, one style, SVG that is the same for the same input."""

import hashlib
import io
import re
import warnings
from collections.abc import Callable, Sequence
from xml.etree import ElementTree as ET

from gangplan.extras import needed
from gangplan.report.wording import one_line, printable

with needed("report"):
    import matplotlib.style
    from matplotlib import colors
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    from matplotlib.text import Text

COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
"""The palette of Okabe and Ito, which people with any kind of colour vision can tell apart; black is kept for text."""

HATCHES = ("", "///", "...", "xxx", "\\\\\\")
"""What tells things apart once the colours are used up."""

INK, SOFT, LINE, OTHER, PAPER = "#1b1f24", "#57606a", "#b8bfc7", "#a9b0b8", "#ffffff"
"""Text, lesser text, thin lines, what belongs to no one of interest, and the ground."""

_STYLE = {
    "axes.edgecolor": LINE,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.labelcolor": SOFT,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "figure.facecolor": PAPER,
    "font.size": 9,
    "grid.color": "#e6e9ed",
    "hatch.linewidth": 0.5,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "svg.fonttype": "none",  # text stays text: it can be read aloud, found and copied
    "svg.hashsalt": "gangplan",
    "text.color": INK,
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "xtick.color": LINE,
    "xtick.labelcolor": SOFT,
    "ytick.color": LINE,
    "ytick.labelcolor": INK,
}
_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
ET.register_namespace("", _SVG)
ET.register_namespace("xlink", _XLINK)


def draw(label: str, width: float, height: float, paint: Callable[[Figure], None]) -> str:
    """Paint a figure and give it as one SVG element.

    Args:
        label: What it shows, for those who do not see it.
        width: In inches.
        height: In inches.
        paint: Puts the content on the figure.

    Returns:
        SVG without prolog, dates, scripts, styles or links to elsewhere; several of them can stand in one HTML page,
        because their ids differ.
    """
    with matplotlib.style.context(["default", _STYLE]), warnings.catch_warnings():
        # The fonts of the reader draw the text, so a glyph that our font lacks is no matter.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasSVG(figure)
        paint(figure)
        for text in figure.findobj(Text):
            if isinstance(text, Text):
                text.set_text(printable(text.get_text()))  # names may be anything, XML may not
        target = io.BytesIO()
        figure.savefig(
            target, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
    return _element(target.getvalue(), one_line(label))


def _element(data: bytes, label: str) -> str:
    """Turn matplotlib's document into an element that can stand in a page."""
    root = ET.fromstring(data)  # noqa: S314 - it was just written by matplotlib
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in {f"{{{_SVG}}}style", f"{{{_SVG}}}metadata"}:
                parent.remove(child)
    ids = {element.attrib["id"] for element in root.iter() if "id" in element.attrib}
    prefix = "g" + hashlib.sha256(data).hexdigest()[:10] + "-"
    used = {
        match[1]
        for element in root.iter()
        for value in element.attrib.values()
        if (match := _reference(value))
    }
    for element in root.iter():
        for name, value in list(element.attrib.items()):
            if name == "id" and value not in used:
                del element.attrib[name]
            elif name == "id":
                element.set(name, prefix + value)
            elif (match := _reference(value)) and match[1] in ids:
                element.set(name, value.replace(f"#{match[1]}", f"#{prefix}{match[1]}"))
    root.set("role", "img")
    root.set("aria-label", label)
    root.set("style", "stroke-linejoin: round; stroke-linecap: butt")
    return ET.tostring(root, encoding="unicode")


def _reference(value: str) -> "re.Match[str] | None":
    """Find the id that an attribute refers to: ``#id`` or, in a style too, ``url(#id)``."""
    return re.fullmatch(r"#(.+)", value) or re.search(r"url\(#([^)]+)\)", value)


def color_of(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Give each name a colour and a hatch, in the order of the names."""
    looks = [(color, hatch) for hatch in HATCHES for color in COLORS]
    return {name: looks[i % len(looks)] for i, name in enumerate(names)}


def ink_on(color: str) -> str:
    """Choose black or white text, whichever reads better on a colour."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colors.to_rgb(color)
    )
    return INK if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 else PAPER


def short(text: str, length: int) -> str:
    """Put a text on one line and cut it to a length in characters."""
    text = one_line(text)
    return text if len(text) <= length else text[: max(1, length - 1)] + "…"


def squeezed(text: str, length: int) -> str:
    """Put a text on one line and cut out its middle, for names that differ at the end."""
    text = one_line(text)
    tail = (length - 1) // 2
    return text if len(text) <= length else f"{text[: max(1, length - 1 - tail)]}…{text[len(text) - tail :]}"
