"""What every store of gang records does, and how a cycle behaves on it: the same tests for all of them."""
