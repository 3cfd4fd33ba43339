"""A Kubeflow Pipelines server for tests: v2beta1 over real HTTP, with the answers that the real one gives."""
