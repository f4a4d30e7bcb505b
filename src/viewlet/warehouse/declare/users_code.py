"""User code stored in a warehouse: by value, or by the name of its module if it has one.

Loading such code runs it, so this is the one place where it is loaded, and where a warehouse that was opened with
`trust=False` refuses to.
"""

from __future__ import annotations

import base64
import pickle
from functools import lru_cache
from typing import Any, NoReturn

from viewlet.errors import StoreError, UnsupportedQuery, UntrustedCode


def to_text(owner: str, code: Any) -> str:
    """Functions and objects of classes as text; `owner` is whose they are, as errors name it: `view v`."""
    from pyspark.cloudpickle import dumps

    try:
        found: bytes = dumps(code)  # type: ignore[no-untyped-call]
    except (pickle.PicklingError, TypeError, AttributeError, ValueError) as error:
        raise UnsupportedQuery(
            f"the code of {owner} cannot be stored: {error}",
            hint="functions and handlers must not hold connections, files, locks or the like",
        ) from error
    return base64.b64encode(found).decode()


@lru_cache(maxsize=64)
def from_text(owner: str, text: str) -> Any:
    """What `to_text` wrote; whoever calls this trusts it."""
    try:
        return pickle.loads(base64.b64decode(text))
    except (ImportError, AttributeError, TypeError, ValueError, pickle.UnpicklingError) as error:
        raise StoreError(
            f"the code of {owner} cannot be loaded here: {error}",
            hint="make the modules that it comes from importable (PYTHONPATH)",
        ) from None


def refuse_untrusted(owner: str) -> NoReturn:
    """Say that stored code would have to run."""
    raise UntrustedCode(
        f"{owner} runs code that is stored in the warehouse, which was opened with trust=False",
        hint="open it with trust=True if you trust whoever wrote it",
    )
