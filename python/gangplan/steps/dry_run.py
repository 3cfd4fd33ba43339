"""What would become of the gangs of a run, each alone, if it were started now."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gangplan.config import Settings
from gangplan.documents import encode
from gangplan.kube.tfjob import gang
from gangplan.plan import Plan
from gangplan.report.explanation import Explanation
from gangplan.snapshot import Snapshot
from gangplan.steps import comparison_request, place_only, scaling_request, sweep_request
from gangplan.steps.arguments import names_of
from gangplan.steps.preview import as_things_stand, on_snapshot, preview, unborn
from gangplan.steps.run import Run, one_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What would become of a gang.

    Attributes:
        about: Which of the run's gangs it is, and those that are like it; empty: there is one.
        told: The answer in words.
        plan: The answer.
    """

    about: str = ""
    told: Explanation
    plan: Plan


def answers(values: Mapping[str, Any], *, chosen: Settings, cluster: Snapshot | None) -> tuple[Answer, ...]:
    """Decide on the gangs of a run as things stand, each as if the others did not come. Nothing is written.

    Args:
        values: All parameters of a pipeline that we know, sound.
        chosen: The settings.
        cluster: Virtual nodes; None: those of the store, or this machine divided.

    Returns:
        An answer for each gang that is not like another one; none if the run places its gangs without launching them.

    Raises:
        InvalidInput: A gang names what the cluster does not know.
    """
    names = names_of(values)
    if names is comparison_request.PARAMETERS:
        return ()
    given = {inner: values[outer] for outer, inner in (names or {}).items()}
    run, own = unborn(values, chosen), str(values.get("tfjob_yaml", ""))
    if names is scaling_request.PARAMETERS:
        return tuple(_each(_sizes(run, given), run, cluster, own))
    if names is sweep_request.PARAMETERS:
        return tuple(_each(_trials(run, given), run, cluster, own))
    if names is place_only.PARAMETERS:
        manifest, asked = place_only.asked(run, given)
        told, plan = (
            as_things_stand(manifest, run, None, tfjob=own)
            if asked is None
            else on_snapshot(manifest, run, asked, tfjob=own)
        )
    else:
        told, plan = preview(values, chosen=chosen, cluster=cluster)
    return (Answer(told=told, plan=plan),)


def _sizes(run: Run, given: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    wanted = scaling_request.asked(run, given)
    for index, workers in enumerate(wanted.counts):
        yield f"worker={workers}", wanted.manifest(one_of(run, index), workers)


def _trials(run: Run, given: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for index, manifest in enumerate(sweep_request.asked(run, given).manifests):
        yield f"trial {index}", manifest


def _each(
    manifests: Iterator[tuple[str, dict[str, Any]]], run: Run, cluster: Snapshot | None, own: str
) -> Iterator[Answer]:
    alike: dict[bytes, list[tuple[str, dict[str, Any]]]] = {}
    for about, manifest in manifests:
        shape = replace(gang(manifest, created=0), name="gang")
        alike.setdefault(encode(shape), []).append((about, manifest))
    for those in alike.values():
        told, plan = as_things_stand(those[0][1], run, cluster, tfjob=own)
        names = [about for about, _ in those]
        yield Answer(about=", ".join(names), told=told, plan=plan)
