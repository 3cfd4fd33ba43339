"""Component conclude."""

from kfp import dsl

from components._image import IMAGE


@dsl.component(base_image=IMAGE, install_kfp_package=False)
def conclude(outcome: str, reason: str) -> str:
    """Make the run red with the reason, unless its job succeeded.

    Args:
        outcome: Outcome of launch_tfjob.
        reason: Its reason.

    Returns:
        The outcome, "Succeeded".
    """
    from gangplan.steps.conclude import conclude as step

    return step(outcome=outcome, reason=reason)
