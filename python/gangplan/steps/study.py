"""Study: what a run found out, as data: a table, charts, figures for programs, and sections for the report."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gangplan.documents import decode, encode, write_atomic
from gangplan.report.charts import Chart
from gangplan.report.page import Section, Table
from gangplan.runtime import ReplicaStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What a run with several gangs found out.

    Attributes:
        title: What it is about.
        outcome: As of :class:`gangplan.steps.outcome.Outcome`.
        reason: Why, in a sentence or a few lines; may be empty.
        facts: Names and values, the first ones to read.
        table: The result.
        charts: The result as pictures.
        metrics: Figures for programs and for comparing runs, by name.
        sections: More for the report.
        model: Folder of the best model; empty: there is none.
        events: Folder of its event files; empty: there are none.
        replicas: The replicas of all gangs.
    """

    title: str
    outcome: str
    reason: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    table: Table
    charts: tuple[Chart, ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    sections: tuple[Section, ...] = ()
    model: str = ""
    events: str = ""
    replicas: tuple[ReplicaStatus, ...] = ()


def write_study(path: str, study: Study) -> None:
    """Write it down for the next steps."""
    write_atomic(Path(path), encode(study, indent=2))


def read_study(path: str) -> Study:
    """Read what an earlier step wrote down."""
    return decode(Path(path).read_bytes(), Study)
