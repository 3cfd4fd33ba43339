"""Kubeflow Pipelines: what is uploaded there, what runs there, and how it ended."""
