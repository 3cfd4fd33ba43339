"""Merge patches (RFC 7396)."""

from typing import Any


def merged(target: Any, patch: Any) -> Any:
    """The target with the patch laid over it; null removes a field."""
    if not isinstance(patch, dict):
        return patch
    kept = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            kept.pop(key, None)
        else:
            kept[key] = merged(kept.get(key), value)
    return kept
