"""What is installed in a cluster is complete, and grants nothing by a wildcard."""

from pathlib import Path

import yaml

from gangplan.kube import kinds

DEPLOY = Path(__file__).parents[2] / "deploy"
BESIDE = {"namespace", "account", "overlays"}
"""Kustomizations of their own."""
PLURALS = {kind.plural for kind in vars(kinds).values() if isinstance(kind, kinds.Kind)}


def objects(folder):
    """All objects that a kustomization applies, with the folder of each file."""
    listed = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
    return [item for name in listed for item in yaml.safe_load_all((folder / name).read_text())]


def test_every_file_is_installed():
    listed = set(yaml.safe_load((DEPLOY / "kustomization.yaml").read_text())["resources"])
    there = {
        str(path.relative_to(DEPLOY))
        for path in DEPLOY.rglob("*.yaml")
        if path.name != "kustomization.yaml" and path.relative_to(DEPLOY).parts[0] not in BESIDE
    }
    assert listed == there
    assert len(there) >= 7


def test_roles_name_each_resource_and_verb():
    rules = [
        (item["metadata"]["name"], rule)
        for item in objects(DEPLOY)
        if item["kind"] in {"Role", "ClusterRole"}
        for rule in item["rules"]
    ]
    assert len(rules) >= 12
    for name, rule in rules:
        assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]], name
        assert {resource.partition("/")[0] for resource in rule["resources"]} <= PLURALS, name


def test_every_binding_binds_a_role_that_is_installed_to_an_account_that_is():
    there = [*objects(DEPLOY), *objects(DEPLOY / "namespace")]
    names = {(item["kind"], item["metadata"]["name"]) for item in there}
    bindings = [item for item in there if item["kind"].endswith("Binding")]
    assert len(bindings) >= 3
    for binding in bindings:
        role = binding["roleRef"]
        assert (role["kind"], role["name"]) in names
        assert all((subject["kind"], subject["name"]) in names for subject in binding["subjects"])
