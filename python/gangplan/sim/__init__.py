"""What other policies would do with the same cluster."""
