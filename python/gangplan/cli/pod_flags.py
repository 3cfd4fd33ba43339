"""Flags of submit about the pods of a job, from flags or from a file, on serverless and virtual nodes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gangplan.cli import completion, render
from gangplan.cli.flag_groups import flag

_PANEL = "Serverless and virtual nodes"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodFlags:
    """What the pods of a job are told for virtual nodes; None: the flag was not given."""

    profile: str | None = flag(
        "--profile",
        "Selector, tolerations, labels and annotations by role: one of those that are shipped (ask-eci, cce-cci, "
        "virtual-kubelet), one of yours in profiles/ or ~/.config/gangplan/profiles, or the path of a file.",
        _PANEL,
        metavar="NAME|FILE",
        autocompletion=completion.profile,
    )
    eci_spec: list[str] | None = flag(  # noqa: RUF009 - it makes a field, as field() does
        "--eci-spec",
        "Instances of Alibaba Cloud that the pods of a role may be, in order of preference. Repeatable.",
        _PANEL,
        metavar="ROLE=SPEC,…",
    )
    eci_image_cache: bool | None = flag(
        "--eci-image-cache",
        "Let instances of Alibaba Cloud start from cached images.",
        _PANEL,
        show_default=False,
    )
    cci_burst: list[str] | None = flag(  # noqa: RUF009 - the same
        "--cci-burst",
        "Whether pods may burst to CCI of Huawei Cloud: auto, enforce or off. Repeatable for roles.",
        _PANEL,
        metavar="[ROLE=]MODE",
    )
    allow_split: bool | None = flag(
        "--allow-split",
        "Let the gang lie on real and on virtual nodes at once.",
        _PANEL,
        show_default=False,
    )

    def told(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """A TFJob whose pods are told what the flags say; they count more than the profile.

        Raises:
            InvalidInput: There is no such profile, or it is wrong, a flag is about a role that the job does not have, or the manifest says
                something else; every problem is named.
        """
        from gangplan.cli.profiles import profile_text
        from gangplan.kube.names import PROFILE
        from gangplan.kube.pod_profile import ALL, Profile, read_profile, roles_of, told
        from gangplan.kube.serverless import cloud_words
        from gangplan.kube.tfjob import read, write
        from gangplan.node_kinds import ALLOW_SPLIT, NODE_TYPE

        if self == PodFlags():
            return dict(manifest)
        words = cloud_words(
            roles_of(manifest),
            eci_specs=self.eci_spec or (),
            image_cache=bool(self.eci_image_cache),
            bursts=self.cci_burst or (),
        )
        profile = read_profile(*profile_text(self.profile)) if self.profile else Profile()
        for role in sorted({*profile.words} - {ALL, *roles_of(manifest)}):
            render.progress(f"note: {self.profile} tells {role} something, of which the job has none")
        made = told(manifest, words.over(profile))
        if self.allow_split:
            notes = {**(made["metadata"].get("annotations") or {}), ALLOW_SPLIT: "true"}
            made["metadata"] = {**made["metadata"], "annotations": notes}
        if any(NODE_TYPE in profile.of(role).node_selector for role in roles_of(manifest)):
            notes = {**(made["metadata"].get("annotations") or {}), PROFILE: str(self.profile)}
            made["metadata"] = {**made["metadata"], "annotations": notes}
        return read(write(made), "the TFJob with what flags and profile say")
