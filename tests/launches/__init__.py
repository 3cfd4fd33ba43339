"""Launches for tests: what a launcher may see, and a world in which one works."""
