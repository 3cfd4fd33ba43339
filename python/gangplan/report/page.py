"""One page as data, and as a self-contained HTML file: no script, nothing from elsewhere, good to print."""

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from gangplan.extras import needed
from gangplan.report import markdown
from gangplan.report.explanation import Explanation
from gangplan.report.wording import printable

with needed("report"):
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table.

    Attributes:
        caption: What it shows; may be empty.
        header: Column titles.
        rows: Rows, each as long as the header. The first cell names the row.
    """

    caption: str = ""
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure.

    Attributes:
        svg: An SVG element as :mod:`gangplan.report.figures` draws it. It goes into the page as it is, so it must
            not come from anywhere else.
        caption: What to see in it.
    """

    svg: str
    caption: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Text that keeps its lines: the end of a log, a document.

    Attributes:
        title: What it is.
        text: The text.
    """

    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a page. Its pieces come in the order of the attributes.

    Attributes:
        title: Heading.
        paragraphs: Plain text; the first ones to read.
        tables: Tables.
        figures: Figures.
        list_intro: What the numbered items have in common.
        items: A numbered list.
        blocks: Texts that keep their lines.
        notes: Plain text, in small print.
    """

    title: str
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    list_intro: str = ""
    items: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page.

    Attributes:
        title: What it is about; also the title of the document.
        subtitle: The answer in one sentence.
        facts: Names and values, shown at the top.
        sections: The parts.
    """

    title: str
    subtitle: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    sections: tuple[Section, ...] = ()


def section(explanation: Explanation, *, title: str, figures: tuple[Figure, ...] = ()) -> Section:
    """Make a section of an explanation, with figures if there are any."""
    table = Table(header=explanation.header, rows=explanation.rows)
    return Section(
        title=title,
        paragraphs=(explanation.headline, *explanation.details),
        tables=(table,) if explanation.header else (),
        figures=figures,
        list_intro=explanation.changes_intro,
        items=explanation.changes,
        notes=explanation.notes,
    )


def render(page: Page) -> str:
    """Write a page as HTML. Whatever its texts hold is shown as text."""
    environment = Environment(
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    template = files("gangplan.report").joinpath("page.html.j2").read_text(encoding="utf-8")
    return environment.from_string(template).render(page=page, inline=Markup)


def _shown(value: Any) -> Any:
    """Clean each text on its way into the page; markup of ours is left alone, and escaping comes after this."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def as_markdown(page: Page) -> str:
    """Write a page as Markdown, without its figures."""
    parts = [f"# {markdown.escape(page.title)}"]
    if page.subtitle:
        parts.append(f"**{markdown.escape(page.subtitle)}**")
    if page.facts:
        parts.append(
            "\n".join(f"- {markdown.escape(name)}: {markdown.escape(value)}" for name, value in page.facts)
        )
    for part in page.sections:
        parts.append(f"## {markdown.escape(part.title)}")
        parts += [markdown.escape(paragraph) for paragraph in part.paragraphs]
        for table in part.tables:
            parts += [markdown.escape(table.caption)] if table.caption else []
            parts.append(markdown.table(table.header, table.rows))
        if part.items:
            parts += [markdown.escape(part.list_intro)] if part.list_intro else []
            parts.append(markdown.numbered(part.items))
        for block in part.blocks:
            parts += [f"### {markdown.escape(block.title)}", markdown.code(block.text)]
        parts += [markdown.escape(note) for note in part.notes]
    return "\n\n".join(parts) + "\n"
