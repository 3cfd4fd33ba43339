"""Accounts with the rights that ``deploy/`` ships, made as its README says."""

import os
from pathlib import Path

import yaml

from cluster.bed.outside import ACCOUNT, Cluster
from cluster.submissions import DEPLOY

LAUNCH = "gangplan-launch"
"""Name of the account that launches, in each namespace that has one."""


def add_launch_account(cluster: Cluster, namespace: str, folder: Path) -> str:
    """Add the account of a namespace that launches; its user name.

    Args:
        cluster: The cluster.
        namespace: The namespace.
        folder: Where the kustomization is written.
    """
    base = os.path.relpath(DEPLOY / "namespace", folder.resolve())
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": namespace,
        "resources": [base],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    cluster.kubectl("apply", "-k", str(folder))
    return f"{ACCOUNT}{namespace}:{LAUNCH}"


def let_admit(cluster: Cluster, namespace: str) -> None:
    """Let the launch account of a namespace admit, too: all steps of a pipeline run under one account."""
    account = f"--serviceaccount={namespace}:{LAUNCH}"
    admit, lead = "--clusterrole=gangplan-admit", "--role=gangplan-lead"
    cluster.kubectl("create", "clusterrolebinding", f"{namespace}-admit", admit, account)
    cluster.kubectl("create", "rolebinding", f"{namespace}-lead", "-n", "gangplan-system", lead, account)
