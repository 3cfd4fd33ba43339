"""A cluster on one machine: virtual nodes, gang records in a file, replicas as processes."""
