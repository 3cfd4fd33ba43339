"""Doctor: finds what a cluster lacks before a job fails for it; each finding with why it matters and what cures it.

A check is a function in one of the modules here that looks and yields findings; :mod:`gangplan.kube.doctor.checks` runs
them in order. To add one: write it where it belongs, and name it in :data:`gangplan.kube.doctor.checks.checks`.
"""
