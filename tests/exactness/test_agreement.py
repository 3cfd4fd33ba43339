"""One gang of several roles: the answer is the constraint model's, at the knife edge too."""

from pathlib import Path

import pytest

from exactness.agreement import compare, summary

BLOCKS = [(hosts, range(start, start + 50)) for hosts in (16, 32) for start in range(0, 350, 50)]
"""14 blocks of 50 seeds, three instances each: 2,100 instances, 1,400 of them at the edge."""


@pytest.mark.parametrize(("hosts", "seeds"), BLOCKS, ids=lambda item: str(getattr(item, "start", item)))
def test_a_gang_is_placed_exactly_where_the_constraint_model_finds_a_place(hosts, seeds):
    """Each block holds its part of what is promised for all, so that blocks may run side by side."""
    got = summary(list(compare(hosts, seeds)))
    assert got.agree == 1.0
    assert got.proven >= 0.99
    assert got.instances >= 143
    assert got.at_edge >= 43
    assert 0.3 <= got.possible <= 0.7
    assert got.best_fit_misses >= 0.1, "the instances are too easy"


def test_the_constraint_model_is_locked():
    """Where the lock is installed, as in CI, nothing above is skipped."""
    assert "\nortools==" in (Path(__file__).parents[2] / "requirements.lock").read_text()
