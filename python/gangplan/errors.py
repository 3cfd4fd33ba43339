"""Everything that gangplan raises.

::

    GangplanError
    ├── InvalidInput (also ValueError)     .problems: path, code, message; all of them at once
    │   └── InvalidQuantity
    ├── CheckFailed                        .violations: rule, path, message
    ├── SolverError                        a bug or an unsupported request
    ├── ClusterError                       .verb .kind .name .namespace
    │   ├── Unreachable
    │   │   └── Busy                       asks to come again later
    │   ├── Forbidden
    │   ├── NotFound
    │   ├── NotInstalled                   the resource type is unknown to the server
    │   ├── Refused                        invalid, or an admission rule or a quota forbids it
    │   ├── Expired                        the version that was asked from is too long ago
    │   └── Conflict                       changed under us
    │       └── AlreadyExists
    ├── StoreError                         the local store cannot be read or written
    ├── JobError                           .replica .last_lines
    │   ├── JobFailed
    │   ├── JobCanceled
    │   └── JobTimedOut
    └── ConfigError

A gang that does not fit is not an error: it is a :class:`gangplan.Rejection` in the plan.
Ctrl-C stays :class:`KeyboardInterrupt`. Causes are chained.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing that is wrong with an input.

    Attributes:
        path: Where, as a JSON path: ``$.gangs[3].roles[0].replicas``.
        code: Stable name of the kind of problem, for programs: ``MISSING_FIELD``.
        message: What was wanted and what was found, for people.
    """

    path: str
    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


@dataclass(frozen=True, slots=True, order=True)
class Violation:
    """One rule that a plan breaks.

    Attributes:
        rule: Code of the rule, a row of ``docs/rules.md``.
        path: The place in the plan: ``$.placements.mnist.worker[2]``.
        message: What the rule wants and what the plan does.
    """

    rule: str
    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message} [{self.rule}]"


class GangplanError(Exception):
    """Base of all errors that gangplan raises on purpose."""


class InvalidInput(GangplanError, ValueError):
    """An input is malformed or contradicts itself; nothing was done with it.

    Attributes:
        problems: All problems found, ordered by path.
        source: The file or document that was read, for the message.
    """

    def __init__(self, problems: "list[Problem] | tuple[Problem, ...]", source: str = "document") -> None:
        self.problems = tuple(problems)
        self.source = source
        count = len(self.problems)
        head = f"{source}: {count} problem{'' if count == 1 else 's'}"
        super().__init__("\n  ".join([head, *map(str, self.problems)]))

    def __reduce__(self) -> "tuple[object, ...]":
        return type(self), (self.problems, self.source), self.__dict__


class InvalidQuantity(InvalidInput):
    """A resource quantity such as ``"64Gi"`` cannot be read or is out of range."""


class CheckFailed(GangplanError):
    """A plan breaks rules.

    Attributes:
        violations: All violations, ordered by path and rule.
    """

    def __init__(self, violations: "list[Violation] | tuple[Violation, ...]") -> None:
        self.violations = tuple(violations)
        count = len(self.violations)
        head = f"the plan breaks {count} rule{'' if count == 1 else 's'}"
        super().__init__("\n  ".join([head, *map(str, self.violations)]))

    def __reduce__(self) -> "tuple[object, ...]":
        return type(self), (self.violations,), self.__dict__


class SolverError(GangplanError):
    """The solver failed: a bug, or a request that it does not support."""


class ClusterError(GangplanError):
    """The cluster refused or failed a request.

    Attributes:
        verb: ``get``, ``list``, ``create``, …
        kind: Kind of the object, ``TFJob``.
        name: Name of the object, if there is one.
        namespace: Its namespace, if it has one.
    """

    def __init__(
        self, message: str, *, verb: str = "", kind: str = "", name: str = "", namespace: str = ""
    ) -> None:
        super().__init__(message)
        self.verb, self.kind, self.name, self.namespace = verb, kind, name, namespace


class Unreachable(ClusterError):
    """No answer from the API server, or one (500, 502, 504) that leaves open whether it was done."""


class Forbidden(ClusterError):
    """The identity that we use may not do this."""


class NotFound(ClusterError):
    """The object does not exist."""


class NotInstalled(ClusterError):
    """The server does not know this kind of resource: a CRD is missing."""


class Busy(Unreachable):
    """The API server asks to come again later."""


class Refused(ClusterError):
    """The object is invalid, or an admission rule or a quota forbids it."""


class Expired(ClusterError):
    """The resource version that was asked from is too long ago; list again."""


class Conflict(ClusterError):
    """The object was changed by someone else since it was read; read it again."""


class AlreadyExists(Conflict):
    """There is an object of this name already."""


class StoreError(GangplanError):
    """The local store of gang records cannot be read or written."""


class JobError(GangplanError):
    """A job did not succeed.

    Attributes:
        replica: The replica that decided it, ``worker-0``; empty if none did.
        last_lines: The last lines of its log, oldest first.
    """

    def __init__(self, message: str, *, replica: str = "", last_lines: "tuple[str, ...]" = ()) -> None:
        super().__init__("\n  | ".join([message, *last_lines]))
        self.replica, self.last_lines = replica, last_lines


class JobFailed(JobError):
    """A replica failed, and with it the job."""


class JobCanceled(JobError):
    """Somebody ended the job."""


class JobTimedOut(JobError):
    """The job passed its deadline."""


class ConfigError(GangplanError):
    """A setting is missing or wrong."""
