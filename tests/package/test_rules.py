"""Rules: the codes of the solver, the table for people, and the code that names them agree."""

import re
from pathlib import Path

from gangplan.solver import rules

ROOT = Path(__file__).parents[2]


def test_the_table_has_a_row_for_each_rule_in_their_order():
    rows = re.findall(r"^\| `([A-Z_]+)` \|(.*)\|$", (ROOT / "docs" / "rules.md").read_text(), re.MULTILINE)
    assert sorted(code for code, _ in rows) == sorted(rules())
    assert len(rows) == len(set(rules())) > 10
    for code, rest in rows:
        assert all(cell.strip() for cell in rest.split("|")), code


def test_every_rule_that_python_names_is_one():
    named: dict[str, Path] = {}
    for path in (ROOT / "python").rglob("*.py"):
        text = path.read_text()
        for code in re.findall(r"""rule\s*(?:=|==|!=)\s*["']([A-Z_]+)["']""", text):
            named[code] = path
    for path in (ROOT / "python" / "gangplan" / "report").glob("*.py"):
        for code in re.findall(
            r"""["']((?:QUEUE|NODE|TOPOLOGY|PACKING|CAPACITY|TAINT)_[A-Z_]+)["']""", path.read_text()
        ):
            named[code] = path
    assert {code: path for code, path in named.items() if code not in rules()} == {}
