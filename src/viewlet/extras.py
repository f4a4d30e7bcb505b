"""Optional packages, which users install with an extra: `pip install 'viewlet[kafka]'`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from viewlet.errors import MissingExtra


def needed(module: str, extra: str) -> Any:
    """A module of a package that an extra installs."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtra(f"{package} is not installed", hint=f"pip install 'viewlet[{extra}]'") from error
