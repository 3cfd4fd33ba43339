"""KFP pipelines, compiled by :mod:`pipelines.compile`."""
