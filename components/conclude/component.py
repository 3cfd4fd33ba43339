"""Component conclude."""

from kfp import dsl

from components._image import IMAGE


@dsl.component(base_image=IMAGE, install_kfp_package=False)
def conclude(outcome: str, reason: str, skip_if_not_admitted: bool = False) -> str:
    """Make the run red with the reason, unless its job succeeded.

    Args:
        outcome: Outcome of launch_tfjob.
        reason: Its reason.
        skip_if_not_admitted: End green where the gang was not admitted.

    Returns:
        The outcome: "Succeeded", or "NotAdmitted" where that is to end green.
    """
    from gangplan.steps.conclude import conclude as step

    return step(outcome=outcome, reason=reason, skip_if_not_admitted=skip_if_not_admitted)
