"""Parts of GPUs fit on whole ones: each device holds its memory and its cores once."""

from collections.abc import Iterator
from fractions import Fraction

from conformance.judge.outcome import Outcome
from conformance.judge.quantity import GPU
from conformance.judge.world import Place

Load = tuple[Fraction, Fraction]


def broken(outcome: Outcome) -> Iterator[str]:
    for node, offered in outcome.world.allocatable.items():
        here = [place for place in outcome.standing.values() if place.node == node]
        parts = [place for place in here if place.pod.share is not None]
        new = any(
            place.pod.share is not None or place.pod.asks.get(GPU)
            for place in here
            if place.pod.name in outcome.fresh
        )
        if not parts or not new:
            continue
        whole = sum((place.pod.asks.get(GPU, Fraction(0)) for place in here), Fraction(0))
        devices = offered.get(GPU, Fraction(0)) - whole
        if not _fits(outcome, node, parts, int(devices) if devices > 0 else 0):
            yield f"{node}: its GPUs cannot be shared out among {', '.join(sorted(p.pod.name for p in parts))}"


def _fits(outcome: Outcome, node: str, parts: list[Place], devices: int) -> bool:
    known: dict[str, Load] = {}
    loose: list[Load] = []
    widths: list[int] = []
    for place in parts:
        share = place.pod.share
        assert share is not None
        load = outcome.world.part_of_device(share, node)
        if place.gpus and place.pod.name not in outcome.fresh:
            for device in place.gpus:
                known[device] = _plus(known.get(device, (Fraction(0), Fraction(0))), load)
        else:
            loose.append(load)
            widths.append(share.devices)
    if len(known) > devices or any(max(load) > 1 for load in known.values()):
        return False
    order = sorted(range(len(loose)), key=lambda i: (loose[i], widths[i]), reverse=True)
    room = [*known.values(), *[(Fraction(0), Fraction(0))] * (devices - len(known))]
    return _share_out([(loose[i], widths[i]) for i in order], room)


def _share_out(left: list[tuple[Load, int]], room: list[Load]) -> bool:
    """Try every way to give the first one its devices, then the rest."""
    if not left:
        return True
    (load, width), *rest = left
    return any(_share_out(rest, after) for after in _ways(load, width, room, 0))


def _ways(load: Load, width: int, room: list[Load], start: int) -> Iterator[list[Load]]:
    if width == 0:
        yield room
        return
    seen = set()
    for device in range(start, len(room)):
        after = _plus(room[device], load)
        if max(after) <= 1 and room[device] not in seen:
            seen.add(room[device])
            yield from _ways(load, width - 1, [*room[:device], after, *room[device + 1 :]], device + 1)


def _plus(a: Load, b: Load) -> Load:
    return a[0] + b[0], a[1] + b[1]
