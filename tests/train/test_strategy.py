"""What a replica is in its job, for every kind of training."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.errors import InvalidInput
from gangplan.tf_config import operator_config, parse
from gangplan.train.strategy import take_seat

SIZES = st.fixed_dictionaries(
    {},
    optional={
        "chief": st.integers(0, 1),
        "ps": st.integers(0, 2),
        "worker": st.integers(0, 3),
        "evaluator": st.integers(0, 1),
    },
).filter(lambda sizes: sizes.get("chief", 0) + sizes.get("worker", 0) >= 1 and sum(sizes.values()) > 1)


def seats(sizes, choice):
    """The seat of each replica, with the TF_CONFIG that it leaves."""
    found = []
    for role, size in sizes.items():
        for i in range(size):
            environ = {"TF_CONFIG": operator_config("mnist", "default", sizes, role, i).to_json()}
            found.append((take_seat(choice, environ), environ.get("TF_CONFIG")))
    return found


@given(SIZES, st.sampled_from(["auto", "mirrored", "alone"]))
def test_one_leads_and_all_agree(sizes, choice):
    found = seats(sizes, choice)
    assert sum(seat.leads for seat, _ in found) == 1
    assert len({seat.kind for seat, _ in found}) == 1
    assert len({json.dumps(seat.replicas, sort_keys=True) for seat, _ in found}) == 1


@given(SIZES, st.sampled_from(["auto", "mirrored", "alone"]))
def test_who_takes_part_is_in_the_cluster_and_everybody_in_the_cluster_takes_part(sizes, choice):
    """A server that is waited for and never comes is a hang."""
    members = [seat for seat, _ in seats(sizes, choice) if not seat.idle and seat.role != "evaluator"]
    assert len(members) == sum(members[0].replicas.values())
    for seat, text in seats(sizes, choice):
        if seat.kind == "alone" or seat.idle or seat.role == "evaluator":
            assert text is None, "TensorFlow would look for the others"
        else:
            config = parse(text)
            assert {role: len(hosts) for role, hosts in config.cluster.items()} == seat.replicas
            assert (config.role, config.index) == (seat.role, seat.index)


@pytest.mark.parametrize(
    ("sizes", "kind"),
    [
        ({"chief": 1, "ps": 1, "worker": 2}, "ps"),
        ({"ps": 1, "worker": 2}, "ps"),
        ({"ps": 1, "worker": 1}, "alone"),
        ({"chief": 1, "ps": 1}, "alone"),
        ({"worker": 2}, "mirrored"),
        ({"chief": 1, "worker": 1}, "mirrored"),
        ({"worker": 1, "evaluator": 1}, "alone"),
    ],
)
def test_auto_follows_the_roles(sizes, kind):
    assert {seat.kind for seat, _ in seats(sizes, "auto")} == {kind}


@pytest.mark.parametrize("text", ["", "{}"])
def test_without_tf_config_it_trains_alone(text):
    seat = take_seat("auto", {"TF_CONFIG": text})
    assert (seat.kind, seat.leads, seat.idle) == ("alone", True, False)


@pytest.mark.parametrize("sizes", [{"worker": 2}, {"chief": 1, "ps": 1}, {"ps": 1, "worker": 1}])
def test_ps_that_cannot_be_is_refused(sizes):
    with pytest.raises(InvalidInput, match="a chief and a worker at least"):
        seats(sizes, "ps")
