"""How Hypothesis judges on a machine that others use too: by what it finds, never by how long it took."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "gangplan", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("gangplan")
