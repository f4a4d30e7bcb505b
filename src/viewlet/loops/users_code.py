"""Code of users that is stored with a loop: by value, or by the name of its module where it has one."""

from __future__ import annotations

import base64
import pickle
from functools import lru_cache
from typing import Any

from viewlet.errors import StoreError, UnsupportedQuery


def to_text(view: str, code: Any) -> str:
    """Functions and objects of classes as text."""
    from pyspark.cloudpickle import dumps

    try:
        found: bytes = dumps(code)  # type: ignore[no-untyped-call]
    except (pickle.PicklingError, TypeError, AttributeError, ValueError) as error:
        hint = "functions and handlers must not hold connections, files, locks or their like"
        raise UnsupportedQuery(f"the code of view {view} cannot be stored: {error}", hint=hint) from error
    return base64.b64encode(found).decode()


@lru_cache(maxsize=64)
def from_text(view: str, text: str) -> Any:
    """What `to_text` wrote; whoever calls this trusts it."""
    try:
        return pickle.loads(base64.b64decode(text))
    except (ImportError, AttributeError, TypeError, ValueError, pickle.UnpicklingError) as error:
        hint = "make the modules that it comes from importable (PYTHONPATH)"
        raise StoreError(f"the code of view {view} cannot be loaded here: {error}", hint=hint) from None
