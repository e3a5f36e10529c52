"""What Python says, as TOML: experiments and the values of settings."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def document(entries: Mapping[str, Any]) -> str:
    """A file with a line for each entry."""
    return "".join(f"{_key(key)} = {value(item)}\n" for key, item in entries.items())


def value(item: Any) -> str:
    """One value, on one line."""
    if hasattr(item, "tolist"):
        # NumPy's scalars and arrays.
        item = item.tolist()
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, int):
        return str(item)
    if isinstance(item, float) and math.isfinite(item):
        return repr(item)
    if isinstance(item, str):
        return _text(item)
    if isinstance(item, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {value(inner)}" for key, inner in item.items()) + " }"
    if isinstance(item, (list, tuple, range)):
        return "[" + ", ".join(map(value, item)) + "]"
    raise TypeError(f"an experiment cannot say {item!r} (expected text, a finite number, a bool, a list or a dict)")


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"the key {key!r} is no text")
    return _text(key)


def _text(text: str) -> str:
    # JSON's escapes are TOML's, but TOML also wants one for DEL.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
