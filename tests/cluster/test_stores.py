"""Gang objects on a real API server keep the contract of a store; the CRDs say what they should."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from stores.contract import LeadContract, Place, StoreContract
from stores.gangs import gang_stores
from stores.queue_use import QueueContract

from cluster.bed.outside import Cluster
from cluster.bed.process import BedError
from gangplan.kube.client import Connection, connect
from gangplan.kube.kinds import GANG
from gangplan.kube.lease import LEASE_S

CRDS = Path(__file__).parents[2] / "deploy" / "crds"
NewNamespace = Callable[[Cluster], str]


@pytest.fixture(scope="module")
def connection(control_plane: Cluster) -> Iterator[Connection]:
    """A connection to a server that knows our resources."""
    control_plane.kubectl("apply", "-f", str(CRDS))
    control_plane.kubectl(
        "wait", "--for=condition=Established", "crd", "-l", "app.kubernetes.io/name=gangplan"
    )
    with connect(kubeconfig=control_plane.kubeconfig()) as found:
        yield found


class TestGangStore(StoreContract, LeadContract, QueueContract):
    rounds = 2  # each write takes its time here

    @pytest.fixture
    def time(self) -> list[float]:
        return [0.0]

    @pytest.fixture
    def place(
        self, control_plane: Cluster, connection: Connection, new_namespace: NewNamespace, time: list[float]
    ) -> Place:
        return gang_stores(connection, new_namespace(control_plane), time)

    @pytest.fixture
    def lose_leader(self, time: list[float]) -> Callable[[], None]:
        def lose() -> None:
            time[0] += LEASE_S

        return lose


def gang(name: str = "g", **spec: object) -> dict:
    roles = [{"name": "worker", "replicas": 2, "requests": {"cpu": 1}}]
    metadata = {"name": name}
    return {
        "apiVersion": "gangplan.dev/v1alpha1",
        "kind": "Gang",
        "metadata": metadata,
        "spec": {"roles": roles, **spec},
    }


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"roles": []}, "spec.roles: Invalid value"),
        ({"roles": [{"name": "w", "replicas": 2, "min": 3}]}, "a role's min must not be above its replicas"),
        ({"roles": [{"name": "w", "replicas": -1}]}, "should be greater than or equal to 0"),
        ({"roles": [{"name": "w", "replicas": 1}, {"name": "w", "replicas": 1}]}, "Duplicate value"),
        ({"roles": [{"replicas": 1}]}, "spec.roles[0].name: Required value"),
        ({"priority": "high"}, "must be of type integer"),
        ({"topology": {"slices": [{"level": "rack", "size": 0}]}}, "should be greater than or equal to 1"),
        ({"rolls": []}, 'unknown field "spec.rolls"'),
    ],
)
def test_server_refuses_a_gang_that_is_none(
    control_plane: Cluster, connection: Connection, new_namespace: NewNamespace, spec: dict, told: str
) -> None:
    namespace = new_namespace(control_plane)
    with pytest.raises(BedError) as caught:
        control_plane.kubectl("create", "-n", namespace, "-f", "-", document=gang(**spec))
    assert told in str(caught.value)


def test_roles_of_a_gang_stay_as_they_were_asked_for(
    control_plane: Cluster, connection: Connection, new_namespace: NewNamespace
) -> None:
    scope = ("-n", new_namespace(control_plane))
    control_plane.kubectl("create", *scope, "-f", "-", document=gang())
    control_plane.kubectl("patch", *scope, "gang", "g", "--type=merge", "-p", '{"spec": {"priority": 5}}')
    change = '[{"op": "replace", "path": "/spec/roles/0/replicas", "value": 3}]'
    with pytest.raises(BedError, match="the roles of a gang cannot be changed: delete it and ask anew"):
        control_plane.kubectl("patch", *scope, "gang", "g", "--type=json", "-p", change)


def test_people_see_where_a_gang_stands(
    control_plane: Cluster, connection: Connection, new_namespace: NewNamespace
) -> None:
    namespace = new_namespace(control_plane)
    control_plane.kubectl("create", "-n", namespace, "-f", "-", document=gang(queue="research"))
    status = {"status": {"phase": "Pending", "position": 2, "reason": "needs 4 GPUs"}}
    connection.patch(GANG, "g", status, namespace=namespace, subresource="status")
    head, line = control_plane.kubectl("get", "gg", "-n", namespace).splitlines()
    assert head.split() == ["NAME", "QUEUE", "PHASE", "POSITION", "OUTCOME", "REASON", "AGE"]
    assert line.split()[:6] == ["g", "research", "Pending", "2", "needs", "4"]
