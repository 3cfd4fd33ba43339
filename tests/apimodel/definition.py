"""Definitions: what the server knows of a kind."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gangplan.kube import kinds
from gangplan.kube.kinds import Kind

CONFIG_MAP = Kind(name="ConfigMap", plural="configmaps", api_version="v1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A kind that the server knows.

    Attributes:
        kind: The kind.
        has_status: Whether its status is a subresource.
        counts_generations: Whether ``metadata.generation`` counts the changes of what is wanted.
        takes_status: Whether a new object keeps the status that it is sent with.
        is_custom: Whether a CRD brought it.
        needs_version: Whether an update must name the version that it is based on.
        schema: The schema of the CRD; None: anything goes.
    """

    kind: Kind
    has_status: bool = False
    counts_generations: bool = False
    takes_status: bool = False
    is_custom: bool = False
    needs_version: bool = False
    schema: Mapping[str, Any] | None = None


BUILT_IN = (
    Definition(kind=kinds.POD, has_status=True, counts_generations=True),
    *(
        Definition(kind=kind, has_status=True)
        for kind in (kinds.SERVICE, kinds.QUOTA, kinds.NAMESPACE, kinds.CLAIM, kinds.VOLUME)
    ),
    Definition(kind=kinds.NODE, has_status=True, takes_status=True),
    Definition(kind=kinds.LEASE, needs_version=True),
    *(
        Definition(kind=kind)
        for kind in (
            CONFIG_MAP,
            kinds.EVENT,
            kinds.LIMIT_RANGE,
            kinds.PRIORITY_CLASS,
            kinds.ACCOUNT,
            kinds.ENDPOINTS,
            kinds.DEFINITION,
            kinds.STORAGE_CLASS,
            kinds.CSI_DRIVER,
        )
    ),
)


def of_crd(crd: Mapping[str, Any]) -> list[Definition]:
    """The kind of a CRD, in each version that is served."""
    spec = crd["spec"]
    return [
        Definition(
            kind=Kind(
                name=spec["names"]["kind"],
                plural=spec["names"]["plural"],
                api_version=f"{spec['group']}/{version['name']}",
                namespaced=spec["scope"] == "Namespaced",
            ),
            has_status="status" in version.get("subresources", {}),
            counts_generations=True,
            is_custom=True,
            needs_version=True,
            schema=version["schema"]["openAPIV3Schema"],
        )
        for version in spec["versions"]
        if version["served"]
    ]
