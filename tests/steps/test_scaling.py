"""The arithmetic of a scaling study, without a gang."""

import re

import pytest

from gangplan.runtime import JobStatus, ReplicaStatus
from gangplan.steps.scaling import Measured, efficiency, metrics, outcome, points, speed_up, table, throughput

PATTERN = re.compile(r"total images/sec: ([0-9.,]+)")


def ran(workers: int, repeat: int, images: float | None = None, **given: str) -> Measured:
    told = {"outcome": "Succeeded"} | given
    return Measured(workers=workers, repeat=repeat, images_per_s=images, **told)


def status(folder, **logs: str) -> JobStatus:
    replicas = []
    for name, text in logs.items():
        (folder / name).write_text(text)
        role, _, index = name.rpartition("_")
        replicas.append(ReplicaStatus(role=role, index=int(index), log=str(folder / name)))
    return JobStatus(name="j", state="Succeeded", replicas=tuple(replicas))


def test_the_median_counts_and_the_smallest_size_is_the_measure():
    """From two workers, not one: with four they are one and a half times as fast, three quarters of perfect."""
    found = points([ran(2, 1, 90.0), ran(2, 2, 110.0), ran(2, 3, 100.0), ran(4, 1, 150.0)], (2, 4), 3)
    assert (found[0].middle, found[1].middle) == (100.0, 150.0)
    assert speed_up(found[1], found[0]) == 1.5
    assert efficiency(found[1], found[0]) == 0.75
    assert [row[:6] for row in table(found).rows] == [
        ("2", "100.0", "90.0 – 110.0", "1.00", "100%", "3 of 3"),
        ("4", "150.0", "150.0 – 150.0", "1.50", "75%", "1 of 3"),
    ]
    assert metrics(found)["efficiency_4"] == 0.75


def test_without_the_smallest_size_speeds_are_told_and_nothing_relative():
    found = points([ran(1, 1, outcome="Failed", reason="boom"), ran(2, 1, 50.0)], (1, 2), 1)
    assert metrics(found) == {"images_per_s_2": 50.0}
    assert table(found).rows[0][-1] == "repeat 1: Failed: boom"
    assert speed_up(found[1], found[0]) is None


def test_the_outcome_is_that_of_the_first_gang_that_did_not_succeed():
    refused = ran(8, 1, outcome="NotAdmitted", reason="no room")
    assert outcome([ran(1, 1, 1.0), refused, ran(2, 1, outcome="Failed", reason="x")]) == (
        "NotAdmitted",
        "8 workers, repeat 1: NotAdmitted: no room",
    )
    assert outcome([ran(1, 1, 1.0)]) == ("Succeeded", "")


@pytest.mark.parametrize(
    ("logs", "told_of", "wanted"),
    [
        ({"worker_0": "total images/sec: 5\ntotal images/sec: 1,234.5\nbye\n"}, "gang", 1234.5),
        ({"chief_0": "total images/sec: 7", "worker_0": "total images/sec: 3"}, "gang", 7.0),
        ({"chief_0": "done", "worker_0": "total images/sec: 3"}, "gang", 3.0),
        ({"ps_0": "total images/sec: 9", "worker_0": "nothing"}, "gang", None),
        ({"worker_0": "total images/sec: 3", "worker_1": "total images/sec: 4"}, "worker", 7.0),
        ({"worker_0": "total images/sec: 3", "worker_1": ""}, "worker", None),
        ({"worker_0": "total images/sec: 0.0"}, "gang", None),
        ({"worker_0": "total images/sec: ..."}, "gang", None),
    ],
)
def test_the_last_figure_of_a_log_counts(tmp_path, logs, told_of, wanted):
    assert throughput(status(tmp_path, **logs), PATTERN, told_of) == wanted


def test_a_log_that_is_no_text_is_read_all_the_same(tmp_path):
    (tmp_path / "log").write_bytes(b"\xff\xfe\ntotal images/sec: 12.5\n" + b"x" * 1_000_000)
    replica = ReplicaStatus(role="worker", index=0, log=str(tmp_path / "log"))
    assert throughput(JobStatus(name="j", state="Succeeded", replicas=(replica,)), PATTERN, "gang") == 12.5
