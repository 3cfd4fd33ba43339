"""What the whole run of these tests did under the accounts that we ship: each right that they have was needed."""

import os
import re

import pytest

from cluster.bed.outside import ACCOUNT, Cluster
from cluster.test_deploy import Right, granted, requests_of

SHIPPED = re.compile(rf"{ACCOUNT}[^:]+:gangplan-(admit|launch)")
USERS = {"test_deploy.py", "test_steps.py", "test_volcano.py"}
"""Files whose tests work under these accounts."""


def test_every_right_that_is_shipped_is_used_and_no_other(
    clusters: list[Cluster], request: pytest.FixtureRequest
) -> None:
    """By the audit logs of all clusters."""
    if missing := USERS - {item.path.name for item in request.session.items}:
        assert not os.environ.get("REQUIRE_ALL"), f"left out of the whole run: {', '.join(sorted(missing))}"
        pytest.skip(f"only the whole run uses every right; left out: {', '.join(sorted(missing))}")
    used: set[Right] = {
        right
        for cluster in clusters
        for user, right, allowed in requests_of(cluster)
        if allowed and SHIPPED.fullmatch(user)
    }
    shipped = granted("admit.yaml") | granted("launch.yaml")
    assert len(shipped) >= 20
    assert shipped - used == set(), "rights that nobody needs"
    assert used - shipped == set(), "rights from elsewhere"
