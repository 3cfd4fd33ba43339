"""Tests on a real Kubernetes cluster that they start themselves."""
