"""References ``$(NAME)`` mean what they mean to the kubelet."""

from typing import Any

import pytest
from builders import tfjob
from hypothesis import given
from hypothesis import strategies as st

from gangplan.kube.references import expand, literal
from gangplan.kube.tfjob import job, read, write

ENV = {"VAR_A": "A", "VAR_B": "B", "VAR_C": "C", "VAR_REF": "$(VAR_A)", "VAR_EMPTY": ""}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("$(VAR_A)", "A"),
        ("___$(VAR_B)___$(VAR_C)", "___B___C"),
        ("$(VAR_A)$(VAR_A)", "AA"),
        ("$(VAR_REF)", "$(VAR_A)"),
        ("$$(VAR_A)", "$(VAR_A)"),
        ("$$$(VAR_A)", "$A"),
        ("$$$$(VAR_A)", "$$(VAR_A)"),
        ("foo$(VAR_EMPTY)bar", "foobar"),
        ("$(UNKNOWN)", "$(UNKNOWN)"),
        ("$(VAR_A", "$(VAR_A"),
        ("$()", "$()"),
        ("$VAR_A ${VAR_A}", "$VAR_A ${VAR_A}"),
        ("$?_$(VAR_A)", "$?_A"),
        ("$($(VAR_A))", "$($(VAR_A))"),
        ("ends with $", "ends with $"),
        ("$$", "$"),
    ],
)
def test_references_are_expanded_as_kubernetes_does(text, wanted):
    assert expand(text, ENV) == wanted


@given(text=st.text("$()A x{}") | st.text())
def test_a_literal_stays_itself_in_any_environment(text):
    assert expand(literal(text), {"A": "1", "": "2", "x": "3"}) == text


def described(given: dict[str, str] | None = None, **fields: Any) -> Any:
    manifest = tfjob()
    manifest["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0].update(fields)
    return job(read(write(manifest)), run_id="r", placement={"worker": ("n",)}, env=given or {}).replicas[0]


def test_commands_and_arguments_know_the_environment_of_their_container():
    found = described(
        {"RUN": "r1", "DIR": "/other"},
        command=["python", "$(DIR)/train.py"],
        args=["--run=$(RUN)", "$$(DIR)", "$(SECRET)"],
        env=[{"name": "DIR", "value": "/code"}, {"name": "SECRET", "valueFrom": {"secretKeyRef": {}}}],
    )
    assert found.command == ("python", "/code/train.py", "--run=r1", "$(DIR)", "$(SECRET)")


def test_a_value_knows_the_variables_before_it():
    env = [{"name": "A", "value": "$(B)"}, {"name": "B", "value": "b"}, {"name": "C", "value": "$(B)c"}]
    assert described(env=env).env == {"A": "$(B)", "B": "b", "C": "bc"}
