"""The command line: one file a noun, each parses, calls and renders."""
