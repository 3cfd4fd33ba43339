"""Shared volumes: what they are written as, made whole or not at all, and never in the place of others."""

import copy
from pathlib import Path

import pytest
import yaml
from apimodel.server import ApiServer, Fault

import gangplan as gp
from gangplan.errors import AlreadyExists, Busy, Forbidden, NotInstalled, Refused, Unreachable
from gangplan.kube.kinds import CLAIM, CSI_DRIVER, VOLUME
from gangplan.kube.provision import Provided, provide
from gangplan.kube.storage import HostPath, Nas, Nfs, Share, differences, see_that_it_can_be

LABEL = {"gangplan.dev/volume": "vision.training"}


FOLDER = HostPath(path="/data")


def share(place: HostPath | Nas | Nfs = FOLDER, **more: str) -> Share:
    return Share(**{"name": "training", "namespace": "vision", "size": "10Gi", "place": place} | more)


def server() -> ApiServer:
    return ApiServer(namespaces=("vision",))


def there(api: ApiServer) -> tuple[int, int]:
    """How many volumes and claims there are."""
    return len(api.list(VOLUME).items), len(api.list(CLAIM).items)


def test_a_claim_finds_its_volume_and_no_other_may_take_it():
    volume, claim = share().volume(), share().claim()
    assert volume["metadata"]["labels"] == claim["spec"]["selector"]["matchLabels"] == LABEL
    reference = volume["spec"]["claimRef"]
    assert (reference["namespace"], reference["name"]) == ("vision", "training")
    for spec in (volume["spec"], claim["spec"]):
        assert (spec["accessModes"], spec["storageClassName"]) == (["ReadWriteMany"], "")
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"


@pytest.mark.parametrize(
    ("place", "source"),
    [
        (
            Nas(server="s", path="/p"),
            {
                "csi": {
                    "driver": "nasplugin.csi.alibabacloud.com",
                    "volumeHandle": "vision.training",
                    "volumeAttributes": {"server": "s", "path": "/p"},
                },
                "mountOptions": ["nolock,tcp,noresvport", "vers=3"],
            },
        ),
        (Nfs(server="s", path="/p"), {"nfs": {"server": "s", "path": "/p"}}),
        (
            Nfs(server="s", path="/p", version="4.1", options=("hard",), by_driver=True),
            {
                "csi": {
                    "driver": "nfs.csi.k8s.io",
                    "volumeHandle": "vision.training",
                    "volumeAttributes": {"server": "s", "share": "/p"},
                },
                "mountOptions": ["hard", "nfsvers=4.1"],
            },
        ),
        (HostPath(path="/p"), {"hostPath": {"path": "/p", "type": "DirectoryOrCreate"}}),
    ],
    ids=["nas", "nfs", "nfs by its driver", "hostpath"],
)
def test_where_it_is_is_said_as_its_driver_reads_it(place, source):
    of_all = set(share().volume()["spec"]) - {"hostPath"}
    spec = share(place).volume()["spec"]
    assert {key: value for key, value in spec.items() if key not in of_all} == source


def test_all_that_is_wrong_is_told_by_its_flag():
    wrong = Share(name="A", namespace="B", size="many", place=Nfs(server="a:/x", path="x", version="two"))
    with pytest.raises(gp.InvalidInput) as caught:
        see_that_it_can_be(wrong)
    assert [problem.path for problem in caught.value.problems] == [
        "--namespace", "--path", "--server", "--size", "--vers", "NAME",
    ]  # fmt: skip
    for place in (HostPath(path="/"), HostPath(path="/a/../b")):
        with pytest.raises(gp.InvalidInput, match="--path"):
            see_that_it_can_be(share(place))
    with pytest.raises(gp.InvalidInput, match="longer than 63 characters"):
        see_that_it_can_be(share(name="n" * 60))


def test_a_share_is_made_once():
    api = server()
    assert provide(api, share(), dry_run=True) == Provided(volume="created", claim="created")
    assert there(api) == (0, 0)
    assert provide(api, share()) == Provided(volume="created", claim="created")
    assert provide(api, share()) == Provided(volume="unchanged", claim="unchanged")
    assert provide(api, share(size="10240Mi")) == Provided(volume="unchanged", claim="unchanged")
    assert there(api) == (1, 1)


def test_what_a_server_fills_in_is_no_difference():
    volume, claim = share().volume(), share().claim()
    found = copy.deepcopy(volume)
    found["spec"] |= {"volumeMode": "Filesystem"}
    found["spec"]["claimRef"] |= {"uid": "1", "resourceVersion": "7"}
    assert differences(found, volume) == []
    bound = copy.deepcopy(claim)
    bound["spec"] |= {"volumeName": "vision.training"}
    assert differences(bound, claim) == []


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (share(HostPath(path="/elsewhere")), "spec.hostPath.path is /elsewhere, not /data"),
        (share(Nfs(server="s", path="/data")), "spec.nfs is"),
        (share(size="20Gi"), "spec.capacity.storage is 20Gi, not 10Gi"),
    ],
)
def test_a_name_in_use_with_another_spec_is_refused_with_the_difference(other, told):
    api = server()
    provide(api, other)
    with pytest.raises(AlreadyExists) as caught:
        provide(api, share())
    assert told in str(caught.value)
    assert there(api) == (1, 1)


def test_a_claim_of_somebody_else_is_not_given_a_volume():
    api = server()
    theirs = {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "volumeName": "pvc-1"}
    api.create(CLAIM, {"metadata": {"name": "training", "namespace": "vision"}, "spec": theirs})
    with pytest.raises(AlreadyExists) as caught:
        provide(api, share())
    for told in ("accessModes is ['ReadWriteOnce']", "storageClassName is fast", "volumeName is pvc-1"):
        assert told in str(caught.value)
    assert there(api) == (0, 1)


def refusing(error: type[gp.ClusterError], *, verb: str, kind: str, calls: int = 1, applied: bool = False):
    """Fail the n-th such request; a dry run is one, too."""
    left = [calls]

    def faults(about):
        if (about.verb, about.kind) != (verb, kind):
            return None
        left[0] -= 1
        return Fault(error=error, applied=applied) if left[0] == 0 else None

    return faults


def test_who_may_not_make_claims_makes_no_volume_either():
    api = server()
    api.faults = refusing(Forbidden, verb="create", kind="PersistentVolumeClaim")
    with pytest.raises(Forbidden):
        provide(api, share())
    assert there(api) == (0, 0)


def test_a_volume_whose_claim_is_refused_at_last_is_taken_back():
    """A quota that filled up after the server was asked."""
    api = server()
    api.faults = refusing(Refused, verb="create", kind="PersistentVolumeClaim", calls=2)
    with pytest.raises(Refused):
        provide(api, share())
    assert there(api) == (0, 0)
    assert provide(api, share()) == Provided(volume="created", claim="created")


def test_a_volume_that_cannot_be_taken_back_is_named():
    api = server()
    first = refusing(Refused, verb="create", kind="PersistentVolumeClaim", calls=2)
    second = refusing(Forbidden, verb="delete", kind="PersistentVolume")
    api.faults = lambda about: first(about) or second(about)
    with pytest.raises(Forbidden, match=r"volume vision\.training, made for it, is left"):
        provide(api, share())


@pytest.mark.parametrize("error", [Unreachable, Busy])
def test_an_answer_that_is_lost_is_gone_on_with(error):
    api = server()
    api.faults = refusing(error, verb="create", kind="PersistentVolumeClaim", calls=2, applied=True)
    with pytest.raises(Unreachable, match="say the same again"):
        provide(api, share())
    assert provide(api, share()) == Provided(volume="unchanged", claim="unchanged")


def test_who_may_not_make_volumes_is_told_who_may():
    api = server()
    api.faults = refusing(Forbidden, verb="create", kind="PersistentVolume")
    with pytest.raises(Forbidden, match="let an administrator apply"):
        provide(api, share())
    assert there(api) == (0, 0)


def test_a_driver_that_is_not_there_is_told_before_anything_is_made():
    api = server()
    for place in (Nas(server="s", path="/"), Nfs(server="s", path="/", by_driver=True)):
        with pytest.raises(NotInstalled, match=f"no CSI driver {place.driver}"):
            provide(api, share(place))
    assert there(api) == (0, 0)
    api.create(CSI_DRIVER, {"metadata": {"name": "nasplugin.csi.alibabacloud.com"}, "spec": {}})
    assert provide(api, share(Nas(server="s", path="/"))).volume == "created"


def test_a_volume_that_outlived_its_claim_is_given_to_the_new_one():
    """Its data is the namespace's own: the volume was kept for a claim of this name."""
    api = server()
    provide(api, share())
    gone = {"spec": {"claimRef": {"uid": "that of the first", "resourceVersion": "7"}}}
    api.patch(VOLUME, "vision.training", gone)
    api.delete(CLAIM, "training", namespace="vision")
    assert provide(api, share()) == Provided(volume="given back", claim="created")
    assert "uid" not in api.get(VOLUME, "vision.training")["spec"]["claimRef"]


def test_what_is_being_deleted_is_not_taken_for_there():
    api = server()
    provide(api, share())
    held = {"metadata": {"finalizers": ["kubernetes.io/pv-protection"]}}
    api.patch(VOLUME, "vision.training", held)
    api.delete(VOLUME, "vision.training")
    with pytest.raises(AlreadyExists, match="is being deleted"):
        provide(api, share())


def test_the_older_form_of_a_volume_differs_only_in_where_it_is():
    sample = Path(__file__).parents[2] / "examples" / "nas-flexvolume.yaml"
    volume, claim = yaml.safe_load_all(sample.read_text())
    options = volume["spec"].pop("flexVolume")["options"]
    newer = Share(
        name="training",
        namespace="default",
        size="100Gi",
        place=Nas(server=options["server"], path=options["path"], version=options["vers"]),
    )
    ours = newer.volume()
    assert ours["spec"].pop("mountOptions") == [options["options"], f"vers={options['vers']}"]
    del ours["spec"]["csi"]
    assert (volume, claim) == (ours, newer.claim())
