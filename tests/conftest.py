"""How Hypothesis judges on a machine that others use too: by what it finds, never by how long it took."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "gangplan",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
    # A person's run looks for new cases; the run that decides over a change tries the same ones each time.
    derandomize=bool(os.environ.get("REQUIRE_ALL")),
)
settings.load_profile("gangplan")
