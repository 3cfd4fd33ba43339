"""A model of an API server in memory, for fast tests: :class:`apimodel.server.ApiServer` is an ``Api``.

``tests/cluster/test_model_agrees.py`` runs the same random operations on it and on a real API server. What it does not
have: graceful deletion (a pod is gone at once, as one without a node is), CEL rules of CRDs, defaults of built-in kinds,
and admission other than that of namespaces and quotas.
"""
