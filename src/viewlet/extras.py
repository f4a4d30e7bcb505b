"""Optional packages, which users install with an extra: `pip install 'viewlet[kafka]'`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pyarrow as pa

from viewlet.errors import MissingExtra

_PYARROW = {"delta": 18, "iceberg": 18}
"""The major versions of PyArrow that extras need, where higher than Viewlet's own minimum."""


def needed(module: str, extra: str) -> Any:
    """Import a module that an extra installs."""
    try:
        found = import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtra(f"{package} is not installed", hint=f"pip install 'viewlet[{extra}]'") from error
    if int(pa.__version__.partition(".")[0]) < (least := _PYARROW.get(extra, 0)):
        reason = f"the extra {extra} needs PyArrow {least} or newer, not {pa.__version__}"
        raise MissingExtra(reason, hint=f"pip install 'viewlet[{extra}]'")
    return found
