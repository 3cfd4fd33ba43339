"""A Kubernetes cluster on one machine: real programs, real containers, in namespaces of its own."""
