"""The Rust core: documents in, documents out, as JSON bytes; columns in, arrays out.

Only ``gangplan.solver`` and ``gangplan.session`` use it.

Every function that takes a document raises :class:`gangplan.errors.InvalidInput` with all problems at once if
it is unsound, and :class:`gangplan.errors.SolverError` on a bug. Long calls release the interpreter and end on
Ctrl-C with :class:`KeyboardInterrupt`.
"""

from typing import Literal, TypeAlias, final

__all__ = [
    "Decisions",
    "Session",
    "check",
    "format_quantity",
    "parse_quantity",
    "roundtrip",
    "rules",
    "schema",
    "solve",
    "traffic",
    "validate",
    "version",
]

_Kind: TypeAlias = Literal["snapshot", "options", "plan", "deltas"]

def solve(snapshot: bytes, options: bytes) -> bytes:
    """Decide which waiting gangs start now, and where; the same input gives the same bytes.

    Args:
        snapshot: A ``Snapshot`` document.
        options: A ``SolveOptions`` document.

    Returns:
        A ``Plan`` document.
    """

def check(snapshot: bytes, plan: bytes) -> bytes:
    """Judge a plan against a snapshot, with code of its own.

    Returns:
        A JSON list of ``{"rule", "path", "message"}``, ordered by path and rule; empty if the plan holds.
    """

def traffic(snapshot: bytes, plan: bytes) -> bytes:
    """Count the cost of the traffic of each gang in the plan's placements, as ``Plan.traffic`` defines it.

    The placements need not be complete, and rules are not judged; the other fields of the plan are ignored.

    Returns:
        A JSON object: gang → cost, replicas that run already included.
    """

def validate(kind: _Kind, document: bytes) -> bytes:
    """List everything that is wrong with a document.

    Returns:
        A JSON list of ``{"path", "code", "message"}``, ordered by path; empty if the document is sound.
    """

def schema(kind: _Kind) -> str:
    """Give the JSON schema of a kind of document, as text."""

def roundtrip(kind: _Kind, document: bytes) -> bytes:
    """Read a document and write it again: what the core understood of it, defaults written out.

    The form must be right; what the document says is not judged.
    """

def rules() -> list[str]:
    """List the codes of all rules: those that refuse gangs, then those that judge plans only."""

def parse_quantity(resource: str, text: str, round_up: bool) -> int:
    """Read a Kubernetes quantity in base units: millicores of ``cpu``, else bytes, devices or replicas.

    Args:
        resource: The resource, which decides the unit.
        text: Such as ``"1500m"`` or ``"64Gi"``.
        round_up: Whether a fraction of the unit goes up (requests) or down (what is there).

    Raises:
        InvalidQuantity: The text is no quantity, or does not fit 64 bits.
    """

def format_quantity(resource: str, amount: int) -> str:
    """Write base units as a quantity: ``("memory", 17179869184)`` gives ``"16Gi"``."""

def version() -> str:
    """Give the version of the core."""

@final
class Session:
    """A cluster held in memory; any thread may use it, one at a time."""

    def __new__(cls, columns: object, texts: bytes) -> Session:
        """Take a cluster in.

        Args:
            columns: What has the attributes of ``gangplan.Columns``.
            texts: A ``Snapshot`` document with the queues, a node for each set of taints, and a gang with a role
                for each of the needs, if there are any.
        """

    @staticmethod
    def of_snapshot(snapshot: bytes) -> Session:
        """Take a cluster in that is told in names: a ``Snapshot`` document."""

    def solve(self, options: bytes) -> Decisions:
        """Decide which waiting gangs start now, and where.

        Args:
            options: A ``SolveOptions`` document.
        """

    def plan(self, options: bytes) -> bytes:
        """Decide the same, with reasons.

        Args:
            options: A ``SolveOptions`` document.

        Returns:
            A ``Plan`` document.
        """

    def explain(self, gang: int, alone: bool, options: bytes) -> bytes | None:
        """Tell why a gang does not start.

        Args:
            gang: Row of the gang.
            alone: As if no other waited.
            options: A ``SolveOptions`` document.

        Returns:
            A ``Rejection``, in JSON; None if the gang starts, does not wait or is not there.
        """

    def apply(self, version: int | None, deltas: bytes) -> bool:
        """Take a ``Deltas`` document in; whether anything changed. Without a version: the next."""

    def apply_columns(self, version: int | None, columns: object) -> bool:
        """Take in what has the attributes of ``gangplan.DeltaColumns``; whether anything changed."""

    def commit(
        self, decisions: Decisions, gangs: list[int] | None
    ) -> list[tuple[int, Literal["structure", "gang", "queue", "node", "rule"], int | None]]:
        """Book what was decided of some rows of gangs, or of all.

        Returns:
            For each gang that was not booked: its row, why, and with ``node`` the row of the node.
        """

    def snapshot(self) -> bytes:
        """Give the cluster as it is now: a ``Snapshot`` document."""

    def names(self) -> list[list[str]]:
        """Give the names by row of nodes, gangs and roles, and the names of resources."""

    def gang_row(self, name: str) -> int | None:
        """Give the row of a gang that waits or runs."""

    def panic(self, text: str) -> None:
        """Break an invariant on purpose, so that tests see what becomes of a bug."""

    @property
    def epoch(self) -> int: ...
    @property
    def version(self) -> int: ...

@final
class Decisions:
    """What a solve decided.

    Arrays are bytes in the order of the machine: ``uint32``, but ``proven`` one byte each and ``kept_starts_s`` ``int64``.
    """

    @property
    def gangs(self) -> bytes: ...
    @property
    def roles(self) -> bytes: ...
    @property
    def indexes(self) -> bytes: ...
    @property
    def nodes(self) -> bytes: ...
    @property
    def refused(self) -> bytes: ...
    @property
    def proven(self) -> bytes: ...
    @property
    def kept_gangs(self) -> bytes: ...
    @property
    def kept_nodes(self) -> bytes: ...
    @property
    def kept_starts_s(self) -> bytes: ...
    @property
    def epoch(self) -> int: ...
    @property
    def stopped(self) -> bool: ...
    @property
    def cells(self) -> int: ...
    @property
    def visited(self) -> int: ...
    @property
    def trials(self) -> int: ...
