"""Laws of admission: whatever several actors do, in whatever order, and wherever one of them is cut off.

Records may be changed by others between any two steps of a cycle, its runner may be deposed or die in it, owners die,
nodes and queues come and go, time passes.
"""

from collections.abc import Callable
from itertools import pairwise

from admission.memory import Cluster, Crash, Door, Shelf, use
from builders import node
from hypothesis import event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import gangplan as gp
from gangplan import admission
from gangplan.admission import run_cycle
from gangplan.config import Terms
from gangplan.errors import Conflict
from gangplan.record import HOLDING, TRANSITIONS, WAITING, Event, GangRecord, Owner, new
from gangplan.record_snapshot import combine

CORES = 4
LIMIT = 6
TERMS = Terms(reservation_s=50.0, record_s=200.0, earmark_s=100.0, earmark_bypasses=2)
POOL = {f"n{place}": node(f"n{place}", cpu=str(CORES), rack=f"r{place // 2}") for place in range(4)}
"""Nodes that may be there: two racks of two."""

QUEUE = gp.Queue(name="limited", limit={"cpu": str(LIMIT)})
OWNERS = tuple(Owner(pid=pid, started=1) for pid in range(2, 5))
names = st.sampled_from(["a", "b", "c", "d", "e", "f"])
roles = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=2).map(
    lambda given: tuple(
        gp.Role(name=f"role{place}", replicas=replicas, requests={"cpu": str(cores)})
        for place, (replicas, cores) in enumerate(given)
    )
)


def _settled(record: GangRecord) -> tuple[Event, ...]:
    """The history of a gang without how often it became impossible and back in its last wait."""
    history = record.history
    while len(history) > 1 and {each.phase for each in history[-2:]} <= WAITING:
        history = history[:-1]
    return history


class Admission(RuleBasedStateMachine):
    """Several actors, one store. ``seen`` holds each record as it was last looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.shelf = Shelf()
        self.now = 1000.0
        self.seen: dict[str, GangRecord] = {}
        self.cluster = Cluster(topology=("rack",), queues=(QUEUE,))

    @initialize(given=st.lists(roles, min_size=2, max_size=4))
    def begin(self, given: list[tuple[gp.Role, ...]]) -> None:
        self.cluster.nodes = tuple(POOL.values())
        for name, given_roles in zip("abcd", given, strict=False):
            self.ask(name, given_roles, 0, None, None, None)

    @property
    def door(self) -> Door:
        return Door(self.shelf)

    # ---- what happens

    @rule(
        name=names,
        given_roles=roles,
        priority=st.integers(0, 1),
        queue=st.sampled_from([None, None, "limited", "limited", "nowhere"]),
        required=st.sampled_from([None, None, "rack", "node", "building"]),
        owner=st.sampled_from([None, None, *OWNERS]),
    )
    def ask(self, name, given_roles, priority, queue, required, owner) -> None:
        wanted = gp.Gang(
            name=name,
            roles=given_roles,
            priority=priority,
            queue=queue,
            topology=gp.Closeness(required=required) if required else None,
            created=int(self.now),
        )
        record = new(wanted, uid=f"{name}-{self.shelf.version}", run_id="run", now=self.now, owner=owner)
        try:
            self.door.create(record)
        except Conflict:
            assert name in self.shelf.records

    @rule(seconds=st.sampled_from([1.0, 30.0, 60.0, 250.0]))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    @rule(owner=st.sampled_from(OWNERS))
    def die(self, owner: Owner) -> None:
        self.cluster.dead.add(owner)

    @rule(names=st.sets(st.sampled_from(sorted(POOL)), min_size=1))
    def change_nodes(self, names: set[str]) -> None:
        self.cluster.nodes = tuple(POOL[name] for name in sorted(names))

    @rule(there=st.booleans())
    def change_queues(self, there: bool) -> None:
        self.cluster.queues = (QUEUE,) if there else ()

    @rule(name=names)
    def bind(self, name: str) -> None:
        try:
            record = admission.bind(self.door, name, run_id="run", now=self.now, owner=None)
        except Conflict:
            return
        event("bound")
        assert record.reservation.expires_at is None

    @rule(name=names)
    def finish(self, name: str) -> None:
        admission.finish(self.door, name, run_id="run", outcome="Succeeded", reason="done", now=self.now)

    @rule(name=names, owner=st.none() | st.sampled_from(OWNERS))
    def hand_over(self, name: str, owner: Owner | None) -> None:
        try:
            admission.hand_over(self.door, name, run_id="run", owner=owner)
        except Conflict:
            return

    @rule()
    def cycle(self) -> None:
        decision = run_cycle(self.door, self.cluster, now=self.now, terms=TERMS)
        if decision is None:
            assert self.shelf.led, "with nobody else there, a cycle always comes to an end"
            return
        gp.check(decision.snapshot, decision.plan)
        if decision.plan.placements:
            event("admitted")
        for record in self.shelf.records.values():
            assert record.phase == "Finished" or record.owner not in self.cluster.dead
            if record.phase == "Reserved":
                assert record.reservation.expires_at > self.now
                assert record.reservation.nodes <= {node.name for node in self.cluster.nodes}
        self._nothing_more_fits()

    @rule(
        place=st.integers(1, 8),
        what=st.sampled_from(
            ["bind all", "bind", "finish", "hand over", "die", "ask", "depose", "depose and cycle"]
        ),
        name=names,
    )
    def disturbed_cycle(self, place: int, what: str, name: str) -> None:
        """Others act at some step of a cycle: whatever it has read by then is out of date."""
        acts: dict[str, Callable[[], object]] = {
            "bind all": lambda: [self.bind(each) for each in list(self.shelf.records)],
            "bind": lambda: self.bind(name),
            "finish": lambda: self.finish(name),
            "hand over": lambda: self.hand_over(name, OWNERS[0]),
            "die": lambda: self.cluster.dead.update(OWNERS),
            "ask": lambda: self.ask(
                name, (gp.Role(name="w", replicas=1, requests={"cpu": "2"}),), 1, None, None, None
            ),
            "depose": self.shelf.depose,
            "depose and cycle": self._other_leader,
        }
        step = Countdown(place, acts[what])
        self.cluster.step = step
        try:
            run_cycle(Door(self.shelf, step), self.cluster, now=self.now, terms=TERMS)
        finally:
            self.cluster.step = lambda _: None
        if step.done:
            event(f"disturbed by: {what}")

    @rule(place=st.integers(1, 8))
    def crashed_cycle(self, place: int) -> None:
        def crash() -> None:
            raise Crash

        try:
            run_cycle(Door(self.shelf, Countdown(place, crash)), self.cluster, now=self.now, terms=TERMS)
        except Crash:
            event("crashed")

    @precondition(lambda self: self.shelf.led)
    @rule()
    def lead_falls_free(self) -> None:
        """The Lease of a leader that died runs out."""
        self.shelf.depose()

    def _other_leader(self) -> None:
        self.shelf.depose()
        run_cycle(self.door, self.cluster, now=self.now, terms=TERMS)

    def _waited_long(self, record: GangRecord) -> bool:
        asked_at = max(record.gang.created, record.expired_at or 0)
        return record.phase in WAITING and (
            record.bypassed >= TERMS.earmark_bypasses or self.now - asked_at >= TERMS.earmark_s
        )

    # ---- what must hold

    @invariant()
    def nothing_is_booked_twice(self) -> None:
        records = self.shelf.records.values()
        for name, cores in use(records).items():
            assert cores <= CORES, f"{cores} cores of {name} are booked, it has {CORES}"

    @invariant()
    def all_or_nothing(self) -> None:
        for record in self.shelf.records.values():
            if record.phase not in HOLDING:
                assert record.reservation is None
                continue
            placed = {role: len(nodes) for role, nodes in record.reservation.placement.items()}
            assert placed == {role.name: role.replicas for role in record.gang.roles}
            nodes = record.reservation.nodes
            required = record.gang.topology and record.gang.topology.required
            assert required != "node" or len(nodes) == 1
            assert required != "rack" or len({POOL[name].labels["rack"] for name in nodes}) == 1

    @invariant()
    def records_only_move_on(self) -> None:
        for name, record in self.shelf.records.items():
            assert record.phase == record.history[-1].phase
            for before, after in pairwise(entered.phase for entered in record.history):
                assert after in TRANSITIONS[before]
            assert (record.outcome is not None) == (record.phase == "Finished")
            assert record.phase in WAITING or record.position is None
            earlier = self.seen.get(name)
            if earlier is not None and earlier != record:
                assert record.version > earlier.version
            if earlier is not None and earlier.uid == record.uid:
                settled = _settled(earlier)
                assert record.history[: len(settled)] == settled
        self.seen = dict(self.shelf.records)

    def _nothing_more_fits(self) -> None:
        """After a cycle no waiting gang could start, not even alone."""
        records = tuple(self.shelf.records.values())
        held = [record for record in records if record.phase in HOLDING]
        for record in records:
            asked = record.gang.topology or gp.Closeness()
            known = asked.required != "building" and record.gang.queue in {
                None,
                *(queue.name for queue in self.cluster.queues),
            }
            if record.phase not in WAITING or not known:
                continue
            if record.rejection is not None and record.rejection.rule == "ROOM_KEPT":
                assert any(map(self._waited_long, records)), record.name
                continue
            snapshot = combine(self.cluster.snapshot(), [*held, record], now=self.now)
            assert record.name not in gp.solve(snapshot).placements, record.name

    def teardown(self) -> None:
        """When all have ended, everything is free: the largest gang is admitted by one cycle, nothing is left later."""
        self.shelf.depose()
        for name in list(self.shelf.records):
            self.finish(name)
        assert use(self.shelf.records.values()) == {}
        self.cluster.nodes = tuple(POOL.values())
        full = gp.Gang(
            name="full", roles=(gp.Role(name="w", replicas=len(POOL), requests={"cpu": str(CORES)}),)
        )
        self.door.create(new(full, uid="full", run_id="run", now=self.now))
        run_cycle(self.door, self.cluster, now=self.now, terms=TERMS)
        assert self.shelf.records["full"].phase == "Reserved"
        self.finish("full")
        self.now += TERMS.record_s
        run_cycle(self.door, self.cluster, now=self.now, terms=TERMS)
        assert self.shelf.records == {}


class Countdown:
    """A step function that does something once, at the n-th step, with nothing disturbing that."""

    def __init__(self, place: int, act: Callable[[], object]) -> None:
        self.left = place
        self.act = act

    @property
    def done(self) -> bool:
        return self.left <= 0

    def __call__(self, _: str) -> None:
        self.left -= 1
        if self.left == 0:
            self.act()


TestLaws = Admission.TestCase
TestLaws.settings = settings(max_examples=150, stateful_step_count=50)
