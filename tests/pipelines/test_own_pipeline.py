"""A pipeline of a user's own, with our components: as the page on Kubeflow shows it."""

import re
from pathlib import Path

import pytest
import yaml

from gangplan.pipeline import compile_pipeline

PAGE = Path(__file__).parents[2] / "docs" / "kubeflow.md"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The pipeline of the page and what Kubeflow's platform is told, as documents."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    # KFP reads the source of a pipeline, which must be a file.
    folder = tmp_path_factory.mktemp("own")
    file = folder / "fine_tune.py"
    file.write_text(code)
    names: dict = {}
    exec(compile(code, str(file), "exec"), names)
    compile_pipeline(names["fine_tune"], folder / "own.yaml")
    return list(yaml.safe_load_all((folder / "own.yaml").read_text()))


def test_every_step_has_the_image_and_is_not_cached(compiled):
    spec, _ = compiled
    tasks = [
        task
        for part in (spec["root"], *spec["components"].values())
        for task in part.get("dag", {}).get("tasks", {}).values()
        if "dag" not in spec["components"][task["componentRef"]["name"]]
    ]
    assert len(tasks) == 4
    assert not [task for task in tasks if task["cachingOptions"].get("enableCache")]
    images = {item["container"]["image"] for item in spec["deploymentSpec"]["executors"].values()}
    assert images == {"registry.example/gangplan/python:1"}


def test_what_is_set_on_admit_goes_to_its_code_and_not_to_its_pod(compiled):
    spec, platform = compiled
    component = spec["components"]["comp-admit"]
    passed = {item["field"]: bool(item.get("applyToTask")) for item in component["taskConfigPassthroughs"]}
    assert passed == {
        "RESOURCES": False,
        "KUBERNETES_TOLERATIONS": False,
        "KUBERNETES_NODE_SELECTOR": False,
        "KUBERNETES_AFFINITY": False,
        "ENV": True,
        "KUBERNETES_VOLUMES": True,
    }
    assert component["inputDefinitions"]["parameters"]["task_config"]["parameterType"] == "TASK_CONFIG"
    told = platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"]["exec-admit"]
    assert told["nodeSelector"] == {"labels": {"pool": "a100"}}
    assert told["secretAsEnv"][0]["keyToEnv"] == [{"envVar": "HUB_TOKEN", "secretKey": "token"}]


def test_every_step_that_needs_the_volume_mounts_it(compiled):
    _, platform = compiled
    executors = platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"]
    mounts = {
        name: item["pvcMount"][0]["mountPath"] for name, item in executors.items() if "pvcMount" in item
    }
    assert mounts == dict.fromkeys(("exec-admit", "exec-launch-tfjob", "exec-release"), "/training")
