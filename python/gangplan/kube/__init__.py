"""The cluster: the only place that knows Kubernetes objects and the Kubernetes client."""
