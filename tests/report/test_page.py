"""The report page."""

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from gangplan.report import figures
from gangplan.report.explanation import explain
from gangplan.report.page import Block, Figure, Page, Section, Table, as_markdown, render, section
from gangplan.report.wording import printable

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Reader(HTMLParser):
    """Reads a page as a browser would: elements with attributes, and the text of each kind of element."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.texts, self.open = [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.texts.append((tag, []))
            self.open.append(self.texts[-1])

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        if self.open:
            self.open[-1][1].append(data)

    def of(self, tag):
        return ["".join(data) for name, data in self.texts if name == tag]

    def attributes(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]


def page(text="plain", svg="<svg></svg>"):
    """A page with this text at every place that takes one."""
    part = Section(
        title=text,
        paragraphs=(text, text),
        tables=(Table(caption=text, header=(text, text), rows=((text, text),)),),
        figures=(Figure(svg=svg, caption=text),),
        list_intro=text,
        items=(text,),
        blocks=(Block(title=text, text=text),),
        notes=(text,),
    )
    return Page(title=text, subtitle=text, facts=((text, text),), sections=(part, part))


def test_texts_are_shown_as_they_are_and_never_as_markup(hostile):
    plain, odd = Reader(render(page())), Reader(render(page(f"a{hostile}b")))
    assert [tag for tag, _ in odd.elements] == [tag for tag, _ in plain.elements]
    assert [sorted(attrs) for _, attrs in odd.elements] == [sorted(attrs) for _, attrs in plain.elements]
    for tag in (
        "title",
        "h1",
        "h2",
        "h3",
        "p",
        "dt",
        "dd",
        "caption",
        "th",
        "td",
        "figcaption",
        "li",
        "code",
    ):
        assert odd.of(tag)
        assert set(odd.of(tag)) == {printable(f"a{hostile}b")}


def test_a_log_of_any_bytes_is_shown():
    log = bytes(range(256)).decode("utf-8", "surrogateescape")
    html = render(Page(title="t", sections=(Section(title="s", blocks=(Block(title="log", text=log),)),)))
    html.encode()
    (shown,) = Reader(html).of("code")
    assert "\N{REPLACEMENT CHARACTER}" in shown
    assert "!\"#$%&'()*+,-./0123456789:;<=>?@ABC" in shown


def test_page_is_whole_in_itself(two_racks, busy, records):
    html = render(_full(two_racks, busy, records))
    read = Reader(html)
    assert not {tag for tag, _ in read.elements} & {
        "script",
        "link",
        "img",
        "iframe",
        "object",
        "embed",
        "base",
    }
    for _, attrs in read.elements:
        for name, value in attrs.items():
            assert not name.startswith("on")
            assert name.startswith("xmlns") or "//" not in (value or "")
            if name.endswith(("href", "src")):
                assert value.startswith("#")
    (style,) = read.of("style")
    assert "url(" not in style
    assert "@import" not in style
    (policy,) = (attrs["content"] for attrs in read.attributes("meta") if "http-equiv" in attrs)
    assert policy.startswith("default-src 'none'")


def test_page_can_be_read_aloud(two_racks, busy, records):
    read = Reader(render(_full(two_racks, busy, records)))
    assert read.attributes("html")[0]["lang"] == "en"
    assert len(read.of("h1")) == 1
    levels = [int(tag[1]) for tag, _ in read.elements if tag in {"h1", "h2", "h3"}]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert len(read.of("main")) == 1
    assert {attrs["scope"] for attrs in read.attributes("th")} == {"col", "row"}
    drawings = read.attributes("svg")
    assert len(drawings) == 2
    assert all(attrs["role"] == "img" and attrs["aria-label"] for attrs in drawings)
    ids = [attrs["id"] for _, attrs in read.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    named = {attrs["aria-labelledby"] for attrs in read.attributes("section")}
    assert named <= set(ids)


def _full(snapshot, plan, records):
    where = Figure(svg=figures.placement_map(snapshot, plan.placements, "Where"), caption="Where it is.")
    when = Figure(svg=figures.timeline(records, 1100.0), caption="When it ran.")
    return Page(
        title="Run",
        sections=(
            section(explain("big", snapshot, plan), title="Why big waits", figures=(where,)),
            Section(title="Time", figures=(when,), blocks=(Block(title="Log", text="end"),)),
        ),
    )


def test_an_explanation_becomes_a_section_with_all_its_pieces(two_racks, busy):
    explanation = explain("big", two_racks, busy)
    read = Reader(render(Page(title="t", sections=(section(explanation, title="Why"),))))
    shown = {text for tag in ("p", "li", "th", "td") for text in read.of(tag)}
    assert explanation.headline in shown
    for row in (explanation.header, *explanation.rows):
        assert set(row) <= shown
    assert {
        *explanation.details,
        *explanation.changes,
        *explanation.notes,
        explanation.changes_intro,
    } <= shown


def test_what_is_empty_leaves_no_trace():
    read = Reader(render(Page(title="t", sections=(Section(title="s"),))))
    assert {tag for tag, _ in read.elements} & {"p", "table", "figure", "ol", "pre", "dl"} == set()


def test_log_lines_keep_their_shape():
    text = "  one\n\n\ttwo  \nthree"
    html = render(Page(title="t", sections=(Section(title="s", blocks=(Block(title="log", text=text),)),)))
    assert Reader(html).of("code") == [text]


def test_same_page_gives_same_bytes_in_any_process():
    code = (
        "import hashlib\n"
        "from gangplan.report.page import render\n"
        "from report.test_page import page\n"
        "print(hashlib.sha256(render(page()).encode()).hexdigest())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "5", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == hashlib.sha256(render(page()).encode()).hexdigest()


def test_markdown_holds_the_texts_and_no_figure(two_racks, busy, records):
    full = _full(two_racks, busy, records)
    text = as_markdown(full).replace("\\", "")
    assert text.startswith("# Run\n\n## Why big waits\n")
    assert explain("big", two_racks, busy).headline in text
    assert "1. prefer the rack instead of requiring it" in text
    assert "### Log\n\n```\nend\n```" in text
    assert "svg" not in text


def test_markdown_texts_cannot_become_markup(hostile):
    """Viewers of Markdown take HTML in it."""
    text = as_markdown(
        replace(page(f"a{hostile}b"), sections=(replace(page(f"a{hostile}b").sections[0], blocks=()),))
    )
    assert "<" not in text
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert len(headings) == 2


@pytest.mark.parametrize("fence", ["```", "````\n# out"])
def test_markdown_log_cannot_close_its_block(fence):
    text = as_markdown(
        Page(title="t", sections=(Section(title="s", blocks=(Block(title="log", text=f"a\n{fence}\nb"),)),))
    )
    marks = [line for line in text.splitlines() if line and set(line) == {"`"}]
    assert marks[0] == marks[-1] == "`" * (len(fence.split("\n")[0]) + 1)
