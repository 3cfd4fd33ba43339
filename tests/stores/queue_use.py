"""The law of queues while gangs are suspended, end and are tried again, as tests that each store's suite inherits."""

from collections import Counter
from dataclasses import dataclass, field, replace
from random import Random

from builders import GPU

import gangplan as gp
from gangplan import admission, attempts, suspension
from gangplan.record import HOLDING, GangRecord
from gangplan.store import Cluster, Member, Store
from stores.contract import TERMS, Place, View, gpu_nodes, reserved

LIMIT = 4
"""GPUs that the queue may use; the nodes have four times as many."""

WHAT = [
    *["cycle"] * 5,
    *["run"] * 6,
    "end",
    *["finish"] * 3,
    *["again"] * 2,
    "suspend",
    "suspend half",
    "resume",
]
"""What may happen next, the likelier the more often."""


@dataclass
class Pods:
    """A cluster with a queue, and what runs there whatever the records say."""

    there: dict[str, tuple[Member, str]] = field(default_factory=dict)

    def of(self, name: str) -> list[Member]:
        """Pods of a gang that are there, those that end too."""
        return [member for member, _ in self.there.values() if member.gang == name]

    def start(self, record: GangRecord) -> None:
        """Make the pods of an admitted gang that are not there."""
        assert record.reservation is not None
        for index, node in enumerate(record.reservation.placement["worker"]):
            pod = f"{record.name}-{record.attempt}-{index}"
            self.there.setdefault(pod, (Member(gang=record.name, role="worker", index=index), node))

    def let_end(self, name: str) -> None:
        """Ask the pods of a gang to end."""
        for pod, (member, node) in self.there.items():
            if member.gang == name:
                self.there[pod] = (replace(member, leaving=True), node)

    def read(self) -> Cluster:
        """What a cycle sees of it."""
        running = tuple(
            gp.Running(name=pod, node=node, requests={GPU: "1"}) for pod, (_, node) in self.there.items()
        )
        view = View(gpu_nodes(4, 4), running=running, members=tuple(self._members()))
        seen = view.read()
        queue = gp.Queue(name="q", limit={GPU: str(LIMIT)})
        return replace(seen, snapshot=replace(seen.snapshot, queues=(queue,)))

    def gone(self, owners: object) -> frozenset:
        """No process answers for a gang here."""
        return frozenset()

    def _members(self) -> list[tuple[str, Member]]:
        return [(pod, member) for pod, (member, _) in self.there.items()]

    def use(self, record: GangRecord) -> int:
        """GPUs of a gang, added up by hand: its pods, and what is kept for replicas that have none."""
        live = self.of(record.name)
        if record.phase not in HOLDING or record.reservation is None:
            return len(live)
        filled = {pod.index for pod in live if record.phase == "Bound" or not pod.leaving}
        return len(live) + len(record.reservation.placement["worker"]) - len(filled)


def may(what: str, record: GangRecord, pods: Pods) -> bool:
    """Whether some actor may do something with a gang as it is."""
    phase, live = record.phase, pods.of(record.name)
    return {
        "run": phase == "Reserved",
        "suspend": phase not in {"Finished", "Suspended"},
        "suspend half": phase not in {"Finished", "Suspended"},
        "resume": phase == "Suspended" and not live,
        "finish": phase == "Bound",
        "again": phase == "Finished",
    }[what]


def act(store: Store, pods: Pods, record: GangRecord, what: str, now: float) -> None:
    """Do it."""
    name, run = record.name, {"run_id": "run", "now": now}
    match what:
        case "run":
            pods.start(record)
            if not any(pod.leaving for pod in pods.of(name)):
                admission.bind(store, name, owner=None, **run)
        case "suspend" | "suspend half":
            suspension.suspend(store, name, reason="aside", **run)
            if what == "suspend":
                pods.let_end(name)
        case "resume":
            suspension.resume(store, name, reason="on", waiter_s=60.0, **run)
        case "finish":
            admission.finish(store, name, outcome="Failed", reason="lost its node", **run)
            pods.let_end(name)
        case "again":
            attempts.again(store, name, reason="again", waiter_s=60.0, **run)


class QueueContract:
    """Tests on a fixture ``place``."""

    rounds = 5
    """How often the random sequence begins anew."""

    def test_what_leaves_of_an_earlier_attempt_is_counted_beside_what_is_kept_for_the_next(
        self, place: Place
    ):
        """Its pod has the name and the index of the replica that is to come, and another node."""
        store, pods = place.open(), Pods()
        first = store.create(place.asked("a"))
        store.update(reserved(first, "n0"))
        pods.there["old"] = (Member(gang=first.name, role="worker", index=0, leaving=True), "n1")
        for name in "bcdefgh":
            store.create(place.asked(name, workers=2))
        assert admission.run_cycle(store, pods, now=2.0, terms=TERMS) is not None
        placed = [record for record in store.records() if record.reservation is not None]
        places = Counter(node for record in placed for node in record.reservation.placement["worker"])
        assert (places["n0"], places["n1"], len(placed)) == (4, 3, 8)

    def test_a_queue_never_passes_its_limit_while_its_gangs_are_suspended_and_end(self, place: Place):
        """Pods end whenever they do, also where who suspends was killed before it asked them to."""
        store, chance, done = place.open(), Random(7), Counter[str]()
        for _ in range(self.rounds):
            for name in "abcd":
                store.create(place.asked(name, workers=chance.randint(1, 3), queue="q"))
            pods = Pods()
            for step in range(60):
                now = 1.0 + step
                what = chance.choice(WHAT)
                if what == "cycle":
                    assert admission.run_cycle(store, pods, now=now, terms=TERMS) is not None
                    ending = [record for record in store.records() if record.phase not in HOLDING]
                    done["cycle beside what ends"] += any(pods.of(record.name) for record in ending)
                elif what == "end" and pods.there:
                    del pods.there[chance.choice(sorted(pods.there))]
                elif what != "end" and (ready := [each for each in store.records() if may(what, each, pods)]):
                    act(store, pods, chance.choice(ready), what, now)
                else:
                    continue
                done[what] += 1
                use = sum(pods.use(record) for record in store.records())
                assert use <= LIMIT, f"after {what}: {use} of {LIMIT}: {store.records()} {pods.there}"
            for record in store.records():
                store.remove(record)
        assert min(done[what] for what in (*WHAT, "cycle beside what ends")) >= 1
