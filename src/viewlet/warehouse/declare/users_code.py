"""User code stored in a warehouse: by value, or by the name of its module if it has one.

Loading such code runs it. This module is the only one that loads it, and refuses to in a warehouse that was opened with
`trust=False`.
"""

from __future__ import annotations

import base64
import pickle
from functools import lru_cache
from typing import Any, NoReturn

from viewlet.errors import StoreError, UnsupportedQuery, UntrustedCode


def to_text(owner: str, code: Any) -> str:
    """Serialize functions and objects; `owner` is what errors call their owner, such as `view v`."""
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
    """Load what `to_text` wrote. The caller has checked that the code is trusted."""
    try:
        return pickle.loads(base64.b64decode(text))
    except (ImportError, AttributeError, TypeError, ValueError, pickle.UnpicklingError) as error:
        raise StoreError(
            f"the code of {owner} cannot be loaded here: {error}",
            hint="make the modules that it comes from importable (PYTHONPATH)",
        ) from None


def refuse_untrusted(owner: str) -> NoReturn:
    """Raise because stored code would have to run."""
    raise UntrustedCode(
        f"{owner} runs code that is stored in the warehouse, which was opened with trust=False",
        hint="open it with trust=True if you trust whoever wrote it",
    )
