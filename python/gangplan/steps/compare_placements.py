"""compare_placements: the same gangs pod by pod and as gangs: who starts, who waits, who is deadlocked, what traffic costs."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gangplan.documents import encode, write_atomic
from gangplan.errors import InvalidInput, Problem
from gangplan.record_snapshot import combine
from gangplan.report import figures
from gangplan.report.charts import Chart
from gangplan.report.explanation import explain
from gangplan.report.page import Figure, Section, Table
from gangplan.report.wording import count
from gangplan.sim.comparison import POD_BY_POD, Course, alone, compare
from gangplan.snapshot import Gang, Snapshot
from gangplan.solver import format_quantity, solve
from gangplan.steps.admit import check_names
from gangplan.steps.comparison_request import asked
from gangplan.steps.outcome import SUCCEEDED
from gangplan.steps.place import place_of
from gangplan.steps.process import step
from gangplan.steps.run import clock, open_run
from gangplan.steps.study import Study, write_study
from gangplan.store import Cluster

log = logging.getLogger(__name__)


@step
def compare_placements(
    *, run_id: str, job_name: str, volume: str, study: str, snapshot: str, **given: Any
) -> int:
    """Let the same gangs go through the default scheduler's way and through ours, in simulated time; nothing is launched.

    Args:
        run_id: Id of the run.
        job_name: Readable name of the job.
        volume: Where pods mount the shared volume; on one machine not looked at.
        study: Path to write: what was found out.
        snapshot: Path to write: the cluster with the gangs, as it was compared on.
        **given: What :func:`asked` takes.

    Returns:
        How many gangs were deadlocked pod by pod.

    Raises:
        InvalidInput: Parameters are wrong; all of them are named.
    """
    run = open_run(run_id, job_name, volume)
    gangs, given_cluster = asked(run, given)
    now = clock()
    if given_cluster is None:
        with place_of(run) as place:
            cluster, records = place.view().read(), place.store().records()
    else:
        cluster, records = Cluster(snapshot=given_cluster), ()
    for each in gangs[:1]:
        check_names(each, cluster)
    seen = combine(cluster.snapshot, records, now=now, members=cluster.members)
    whole = replace(seen, gangs=(*seen.gangs, *_after(gangs, seen)))
    if not whole.gangs:
        message = "must be at least 1: no gang waits in this cluster"
        raise InvalidInput([Problem("gang_copies", "CONTRADICTION", message)], "run parameters")
    courses = compare(whole)
    hopeless = _hopeless(courses, whole)
    for line in (*_story(courses), *hopeless):
        log.info("%s", line)
    write_atomic(Path(snapshot), encode(whole, indent=2))
    write_study(
        study,
        Study(
            title=f"Placements compared {run.name}",
            outcome=SUCCEEDED,
            reason="\n".join(hopeless),
            facts=(
                ("gangs", str(sum(len(_all(course)) for course in courses[:1]))),
                ("nodes", str(len(whole.nodes))),
                ("levels", ", ".join(whole.topology) or "none"),
            ),
            table=_table(courses, whole),
            charts=tuple(_charts(courses, whole)),
            metrics=_metrics(courses),
            sections=(_explained(courses, whole, hopeless),),
        ),
    )
    return len(courses[0].deadlocked)


def _after(gangs: tuple[Gang, ...], seen: Snapshot) -> Iterator[Gang]:
    """The gangs, younger than all that wait there."""
    last = max((gang.created for gang in seen.gangs), default=0)
    yield from (replace(each, created=last + 1 + index) for index, each in enumerate(gangs))


def _all(course: Course) -> tuple[str, ...]:
    return (*course.started, *course.deadlocked, *course.never)


def _level(snapshot: Snapshot) -> str:
    return snapshot.topology[-1] if snapshot.topology else "level"


def _mean(costs: Mapping[str, int]) -> float | None:
    return sum(costs.values()) / len(costs) if costs else None


def _text(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}"


def _table(courses: tuple[Course, ...], snapshot: Snapshot) -> Table:
    rows = tuple(
        (
            course.policy,
            str(len(course.at_once)),
            str(len(course.later)),
            str(len(course.deadlocked)),
            str(len(course.never)),
            _amounts(course.idle),
            _text(_mean(course.traffic)),
            _text(_mean(course.crossing)),
        )
        for course in courses
    )
    counts = ("placed", "start at once", "start later", "deadlocked", "never start", "held in vain")
    header = (*counts, "traffic of a gang", f"of it across a {_level(snapshot)}")
    caption = "In simulated time: each gang that is whole runs, ends, and gives its room to the next."
    return Table(caption=caption, header=header, rows=rows)


def _amounts(idle: Mapping[str, int]) -> str:
    return (
        ", ".join(f"{format_quantity(name, amount)} {name}" for name, amount in sorted(idle.items())) or "–"
    )


def _charts(courses: tuple[Course, ...], snapshot: Snapshot) -> Iterator[Chart]:
    ticks = tuple(course.policy for course in courses)
    kinds = {
        "start at once": [len(course.at_once) for course in courses],
        "start later": [len(course.later) for course in courses],
        "deadlocked": [len(course.deadlocked) for course in courses],
        "never start": [len(course.never) for course in courses],
    }
    yield Chart(
        title="What becomes of the gangs",
        caption="Deadlocked gangs would start alone, hold room, and wait for each other's.",
        x="placed",
        y="gangs",
        ticks=ticks,
        series={name: tuple(float(value) for value in values) for name, values in kinds.items()},
    )
    if any(course.traffic for course in courses):
        crossing = {f"across a {_level(snapshot)}": tuple(_mean(course.crossing) for course in courses)}
        yield Chart(
            title="Traffic of a gang",
            caption="Mean over the gangs that start: pairs of replicas that talk, times the levels that part them.",
            x="placed",
            y="cost",
            ticks=ticks,
            series={
                "in all": tuple(_mean(course.traffic) for course in courses),
                **(crossing if snapshot.topology else {}),
            },
        )


def _metrics(courses: tuple[Course, ...]) -> dict[str, float]:
    found: dict[str, float] = {}
    for course in courses:
        name = course.policy.replace(" ", "_")
        found |= {
            f"at_once_{name}": len(course.at_once),
            f"later_{name}": len(course.later),
            f"deadlocked_{name}": len(course.deadlocked),
            f"never_{name}": len(course.never),
        }
        for title, costs in (("traffic", course.traffic), ("crossing", course.crossing)):
            if (value := _mean(costs)) is not None:
                found[f"{title}_{name}"] = round(value, 4)
    return found


def _explained(courses: tuple[Course, ...], snapshot: Snapshot, hopeless: tuple[str, ...]) -> Section:
    shown = [course for course in courses if course.policy in {POD_BY_POD, "packed"}]
    drawn = tuple(
        Figure(
            svg=figures.placement_map(snapshot, course.first, f"At first: {course.policy}"),
            caption="What is placed before anything has ended; replicas without a node are beside the nodes.",
        )
        for course in shown
        if course.first
    )
    return Section(title="What happens", paragraphs=(*_story(courses), *hopeless), figures=drawn)


def _story(courses: tuple[Course, ...]) -> tuple[str, ...]:
    return tuple(_told(course) for course in courses)


def _hopeless(courses: tuple[Course, ...], snapshot: Snapshot) -> tuple[str, ...]:
    """Why gangs would start under no policy, not even alone; those that are alike are told once."""
    gangs = {gang.name: gang for gang in snapshot.gangs}
    alike: dict[bytes, list[str]] = {}
    for name in sorted({name for course in courses for name in course.impossible}):
        alike.setdefault(encode(replace(gangs[name], name="", created=0)), []).append(name)
    return tuple(_why_never(snapshot, gangs[names[0]], names) for names in alike.values())


def _why_never(snapshot: Snapshot, gang: Gang, names: list[str]) -> str:
    cluster = alone(snapshot, gang)
    plan = solve(cluster)
    if gang.name not in plan.rejections:
        why = f"{POD_BY_POD} its own replicas are in each other's way; as a gang it would start"
    else:
        told = explain(gang.name, cluster, plan)
        why = " ".join([told.headline, *told.details])
    return f"{_names(names)} would not start even alone: {why}"


def _told(course: Course) -> str:
    parts = [f"{count(len(course.at_once), 'gang')} at once, {len(course.later)} later"]
    if course.deadlocked:
        parts.append(
            f"{_names(course.deadlocked)} never: each would start alone, and waits for what another one holds"
        )
    if course.never:
        few = f" ({len(course.impossible)} would not even alone)" if course.impossible else ""
        parts.append(f"{count(len(course.never), 'other gang')} never start{few}")
    if course.idle:
        parts.append(f"{_amounts(course.idle)} are held in vain")
    return f"{course.policy}: {'; '.join(parts)}."


def _names(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
