"""A Gang object ↔ the record of a gang."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from gangplan import moments
from gangplan.documents import convert, to_builtins
from gangplan.kube.camel import from_map, to_map
from gangplan.kube.kinds import GANG
from gangplan.kube.names import RUN_ID
from gangplan.kube.resources import GangSpec, GangStatus, HistoryEntry, ReservationStatus
from gangplan.plan import Rejection
from gangplan.record import NOT_LOOKED_AT, Event, GangRecord, Reservation
from gangplan.snapshot import Gang

SHARED = tuple(field.name for field in fields(GangSpec) if field.name not in {"run_id", "attended_s"})
"""Fields that a Gang object's spec and a gang have both."""


def full_name(namespace: str, name: str) -> str:
    """The name of a gang among those of all namespaces."""
    return f"{namespace}/{name}"


def name_of(item: Mapping[str, Any]) -> str:
    """The full name of a gang's object, or of one that has its name."""
    return full_name(item["metadata"]["namespace"], item["metadata"]["name"])


def split_name(full: str) -> tuple[str, str]:
    """Namespace and name of a gang's object."""
    namespace, _, name = full.partition("/")
    return namespace, name


def to_record(found: Mapping[str, Any]) -> GangRecord:
    """Read the record of a gang from its object.

    Raises:
        InvalidInput: The object is of another version than the schema of ``deploy/crds``.
    """
    metadata = found["metadata"]
    spec = from_map(GangSpec, found["spec"])
    status = from_map(GangStatus, found.get("status") or {})
    created = moments.seconds(metadata["creationTimestamp"])
    gang = Gang(
        name=full_name(metadata["namespace"], metadata["name"]),
        namespace=metadata["namespace"],
        created=int(created),
        **{name: getattr(spec, name) for name in SHARED},
    )
    history = tuple(
        Event(at=moments.seconds(entry.at), phase=entry.phase, reason=entry.reason)
        for entry in status.history
    )
    return GangRecord(
        gang=gang,
        uid=metadata["uid"],
        run_id=spec.run_id,
        phase=status.phase,
        version=int(metadata["resourceVersion"]),
        reason=status.reason or (NOT_LOOKED_AT if status.phase == "Pending" else ""),
        position=status.position,
        reservation=_reservation(status.reservation),
        rejection=None if status.rejection is None else convert(dict(status.rejection), Rejection),
        outcome=status.outcome,
        history=history or (Event(at=created, phase="Pending", reason="asked for"),),
        forgotten=status.forgotten,
        expired_at=None if status.expired_at is None else moments.seconds(status.expired_at),
        bypassed=status.bypassed,
        kept_until=_kept_until(spec, status, created),
        published=status.published,
    )


def _kept_until(spec: GangSpec, status: GangStatus, created: float) -> float | None:
    if status.kept_until is not None:
        return moments.seconds(status.kept_until)
    return None if spec.attended_s is None else created + spec.attended_s


def _reservation(status: ReservationStatus | None) -> Reservation | None:
    if status is None:
        return None
    expires_at = None if status.expires_at is None else moments.seconds(status.expires_at)
    return Reservation(placement=status.placement, expires_at=expires_at)


def to_object(record: GangRecord) -> dict[str, Any]:
    """Write the object of a gang that is to be created; it has no status yet."""
    namespace, name = split_name(record.name)
    asked_at = record.history[0].at if record.history else 0.0
    attended_s = None if record.kept_until is None else max(1, round(record.kept_until - asked_at))
    spec = GangSpec(
        run_id=record.run_id, attended_s=attended_s, **{name: getattr(record.gang, name) for name in SHARED}
    )
    metadata: dict[str, Any] = {"name": name, "namespace": namespace}
    if record.run_id:
        metadata["labels"] = {RUN_ID: record.run_id}
    return {"apiVersion": GANG.api_version, "kind": GANG.name, "metadata": metadata, "spec": to_map(spec)}


def _reserved(reservation: Reservation) -> ReservationStatus:
    expires_at = None if reservation.expires_at is None else moments.text(reservation.expires_at)
    return ReservationStatus(placement=reservation.placement, expires_at=expires_at)


def to_status(record: GangRecord) -> dict[str, Any]:
    """Write the status of a gang's object."""
    reservation = None if record.reservation is None else _reserved(record.reservation)
    # The phase is written also where it is the default: people look at it.
    return {"phase": record.phase} | to_map(
        GangStatus(
            phase=record.phase,
            position=record.position,
            reason=record.reason,
            outcome=record.outcome,
            reservation=reservation,
            rejection=None if record.rejection is None else to_builtins(record.rejection),
            bypassed=record.bypassed,
            expired_at=None if record.expired_at is None else moments.text(record.expired_at),
            kept_until=None if record.kept_until is None else moments.text(record.kept_until),
            published=record.published,
            forgotten=record.forgotten,
            history=tuple(
                HistoryEntry(at=moments.text(event.at), phase=event.phase, reason=event.reason)
                for event in record.history
            ),
        )
    )
