"""Session: a cluster held in memory by the Rust core, kept up by deltas and decided on any number of times."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from gangplan import _core
from gangplan.column_texts import texts
from gangplan.columns import Columns
from gangplan.decisions import Decisions, Names
from gangplan.delta_columns import DeltaColumns
from gangplan.deltas import Deltas
from gangplan.documents import decode, encode
from gangplan.errors import InvalidInput, Problem
from gangplan.options import SolveOptions
from gangplan.plan import Plan, Rejection
from gangplan.snapshot import Snapshot


class Session:
    """A cluster that is taken in once, kept up by deltas, and decided on any number of times, from any thread.

    It is opened from columns or from a snapshot, and answers in arrays, or in plans that have the same hash as those of
    :func:`gangplan.solve` for :meth:`snapshot`. What goes in is copied: what happens to the caller's arrays afterwards
    changes nothing. Threads take turns. A session still works in a child process after a fork.

    Things are named by rows too: those of the columns, or of the lists of the snapshot (roles gang by gang), then those
    that deltas added, in their order. A row stays what it is, also when that is gone.

    >>> from gangplan import Columns, GangColumns, Node, NodeColumns, Deltas, RoleColumns, Gone
    >>> session = Session(Columns(
    ...     resources=("cpu", "nvidia.com/gpu"),
    ...     nodes=NodeColumns(names=["n1", "n2"], allocatable=[[8000, 8000], [4, 2]]),
    ...     gangs=GangColumns(names=["mnist", "large"]),
    ...     roles=RoleColumns(gangs=[0, 1], names=["worker", "worker"], replicas=[3, 9], requests=[[1000, 1000], [1, 1]]),
    ... ))
    >>> decisions = session.solve()
    >>> decisions.nodes.tolist(), decisions.placements(), decisions.refusals()
    ([0, 0, 0], {'mnist': {'worker': ('n1', 'n1', 'n1')}}, ('large',))
    >>> session.commit(decisions), session.explain("large").message
    ((), 'needs 9 nvidia.com/gpu; the nodes that it may use have 6 in all, 3 free')
    >>> node = Node(name="n3", allocatable={"cpu": "8", "nvidia.com/gpu": "8"})
    >>> session.apply(Deltas(nodes=(node,), gone=Gone(gangs=("mnist",))))
    True
    >>> session.solve().refusals()
    ()
    """

    def __init__(self, cluster: Columns | Snapshot) -> None:
        """Take a cluster in.

        Args:
            cluster: Columns are taken in much faster; a snapshot can say more.

        Raises:
            InvalidInput: It is wrong; every problem is named with its path, such as ``$.nodes.allocatable[0][17]``.
            SolverError: A bug; please report it with the cluster.
        """
        if isinstance(cluster, Snapshot):
            self._core = _core.Session.of_snapshot(encode(cluster))
            self._names = Names(self._core, None)
            return
        if not isinstance(cluster, Columns):
            raise _wrong_type("$", "Columns or Snapshot", cluster, "columns")
        problems: list[Problem] = []
        parts = texts(cluster, problems)
        try:
            self._core = _core.Session(cluster, parts)
        except InvalidInput as error:
            if not problems:
                raise
            problems += error.problems
        if problems:
            raise InvalidInput(sorted(problems, key=_place), "columns")
        self._names = Names(self._core, cluster)

    @property
    def epoch(self) -> int:
        """Counts the deltas and commits that changed something."""
        return self._core.epoch

    @property
    def version(self) -> int:
        """The version of the last deltas; at first 0."""
        return self._core.version

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of nodes by row, those that are gone too."""
        return self._names.now().nodes

    @property
    def gangs(self) -> tuple[str, ...]:
        """Names of gangs by row, those that are gone too."""
        return self._names.now().gangs

    @property
    def roles(self) -> tuple[str, ...]:
        """Names of roles by row, those that are gone too."""
        return self._names.now().roles

    @property
    def resources(self) -> tuple[str, ...]:
        """Names of the resources, in the order in which amounts are given in columns."""
        return tuple(self._core.names()[3])

    def solve(self, options: SolveOptions | None = None) -> Decisions:
        """Decide which waiting gangs start now, and where; as :func:`gangplan.solve`, without reasons.

        The session stays as it is: nothing is placed. Equal clusters give equal decisions, whatever the order of
        their rows. Ctrl-C interrupts.

        Args:
            options: Limits; None: the defaults. ``changes`` has no meaning here.

        Raises:
            InvalidInput: The options are wrong; every problem is named.
            SolverError: A bug; please report it with the snapshot.
        """
        return Decisions(self._core.solve(encode(options or SolveOptions())), self._names)

    def plan(self, options: SolveOptions | None = None) -> Plan:
        """The same decisions as a plan, with reasons: the one that ``solve(session.snapshot(), options)`` gives.

        Raises:
            InvalidInput: The options are wrong; every problem is named.
            SolverError: A bug; please report it with the snapshot.
        """
        return decode(self._core.plan(encode(options or SolveOptions())), Plan)

    def explain(
        self, gang: str | int, options: SolveOptions | None = None, *, alone: bool = False
    ) -> Rejection | None:
        """Tell why a gang cannot start now, and what would change that, as :meth:`plan` does, but for one gang only.

        Args:
            gang: Its name or row.
            options: Limits; None: the defaults.
            alone: As if no other gang waited, rather than after those that come first.

        Returns:
            None if the gang starts, or does not wait, or is gone.

        Raises:
            InvalidInput: There is no such gang, or the options are wrong.
            SolverError: A bug; please report it with the snapshot.
        """
        problems: list[Problem] = []
        row = self._row(gang, "$.gang", problems)
        if row is None:
            raise InvalidInput(problems, "gang")
        found = self._core.explain(row, alone, encode(options or SolveOptions()))
        return None if found is None else decode(found, Rejection)

    def apply(self, deltas: Deltas | DeltaColumns, *, version: int | None = None) -> bool:
        """Take changes in: all of them, or none if anything is wrong.

        After documents a session that was opened from columns goes on in names, which takes as long as opening the
        snapshot; its rows stay.

        Args:
            deltas: In names, or in columns where much changes at once.
            version: Rises with each change of where the deltas come from, as a resource version does. Deltas of
                the last version are known already and change nothing, those of an older one are refused. None: the next.

        Returns:
            Whether anything is other than before; only then the epoch goes up.

        Raises:
            InvalidInput: The deltas are wrong or come out of order; every problem is named with its path, ``$`` where
                something that was there before would be wrong with them.
            KeyboardInterrupt: On Ctrl-C; ``version`` tells whether the deltas were done before.
            SolverError: A bug; please report it with the snapshot and the deltas.
        """
        if version is not None and not (type(version) is int and 0 <= version < 2**64):
            problem = Problem("$.version", "OUT_OF_RANGE", f"must be from 0 to 2**64 - 1, not {version!r}")
            raise InvalidInput([problem], "deltas")
        if isinstance(deltas, DeltaColumns):
            return self._core.apply_columns(version, deltas)
        if not isinstance(deltas, Deltas):
            raise _wrong_type("$", "Deltas or DeltaColumns", deltas, "deltas")
        return self._core.apply(version, encode(deltas))

    def commit(
        self, decisions: Decisions, gangs: Iterable[str | int] | None = None
    ) -> "tuple[CommitConflict, ...]":
        """Book what was decided as reserved places: each gang whole, or not at all if that does not hold any more.

        Whether a reserved replica runs is told by deltas, as everything else is.

        Args:
            decisions: Of this session, as it is now or was before.
            gangs: Names or rows of the gangs to book; None: all that were placed.

        Returns:
            The gangs that were not booked, in the order of the decisions.

        Raises:
            InvalidInput: The decisions are of another session, or did not place one of the gangs.
        """
        if not isinstance(decisions, Decisions):
            raise _wrong_type("$", "Decisions", decisions, "decisions")
        if decisions._names is not self._names:  # noqa: SLF001 - nobody else needs to know where they are from
            raise InvalidInput([Problem("$", "CONTRADICTION", "are of another session")], "decisions")
        rows = None if gangs is None else self._placed(decisions, list(gangs))
        names = self._names.now()
        return tuple(
            CommitConflict(
                gang=names.gangs[gang], cause=cause, node=None if node is None else names.nodes[node]
            )
            for gang, cause, node in self._core.commit(decisions._core, rows)  # noqa: SLF001 - the core's own object
        )

    def snapshot(self) -> Snapshot:
        """The cluster as it is now. Its sequences are in no order."""
        return decode(self._core.snapshot(), Snapshot)

    def _row(self, gang: object, path: str, problems: list[Problem]) -> int | None:
        if type(gang) is str:
            row = self._core.gang_row(gang)
            if row is None:
                problems.append(Problem(path, "UNKNOWN_NAME", f"there is no gang '{gang}'"))
            return row
        if type(gang) is not int:
            found = f"must be a name or a row, not {type(gang).__name__}"
            problems.append(Problem(path, "WRONG_TYPE", found))
            return None
        count = len(self.gangs)
        if not 0 <= gang < count:
            problems.append(Problem(path, "OUT_OF_RANGE", f"must be below {count}, not {gang}"))
            return None
        return gang

    def _placed(self, decisions: Decisions, gangs: list[str | int]) -> list[int]:
        """Rows of the gangs, if all were placed."""
        problems: list[Problem] = []
        placed = set(decisions.gangs.tolist())
        rows = []
        for place, gang in enumerate(gangs):
            row = self._row(gang, path := f"$.gangs[{place}]", problems)
            if row is not None and row not in placed:
                problems.append(Problem(path, "CONTRADICTION", f"the decisions do not place gang {gang!r}"))
            elif row is not None:
                rows.append(row)
        if problems:
            raise InvalidInput(problems, "gangs")
        return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitConflict:
    """A gang whose placement does not hold any more; nothing of it was booked.

    Attributes:
        gang: The gang.
        cause: What changed since it was decided: ``gang`` (it, or what runs of it), ``queue`` (its queue or namespace
            does not admit it), ``node`` (a node does not take a replica), ``rule`` (a rule about where replicas lie
            would be broken), ``structure`` (in columns: nodes, gangs or queues were added or removed; solve again).
        node: With ``node``: which.
    """

    gang: str
    cause: Literal["structure", "gang", "queue", "node", "rule"]
    node: str | None = None


def _wrong_type(path: str, wanted: str, found: object, source: str) -> InvalidInput:
    return InvalidInput(
        [Problem(path, "WRONG_TYPE", f"must be {wanted}, not {type(found).__name__}")], source
    )


def _place(problem: Problem) -> list[tuple[int, str]]:
    """Sorts paths with the numbers in them as numbers."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", problem.path)]
