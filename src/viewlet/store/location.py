"""Where a warehouse is: a URL or a local folder. One is created only in a folder without other files."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from viewlet.errors import StoreError, WrongArgument, shortened
from viewlet.store.files import DATA, LOG, MARK, VERIFIED

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")  # one slash is enough: a Path collapses two
_OWN = {LOG, DATA, MARK, VERIFIED, "lock"}
_NOTHING = {"lost+found"}  # in the root of every new volume


def split_url(path: str | os.PathLike[str]) -> tuple[str, str] | None:
    """The scheme of a URL and what follows it; None for local folders, including `file:` URLs."""
    scheme = _SCHEME.match(_text(path))
    if scheme is None or scheme[1].lower() == "file":
        return None
    return scheme[1].lower(), _text(path)[scheme.end() :].strip("/")


def _text(path: str | os.PathLike[str]) -> str:
    if not isinstance(path, str | os.PathLike):
        raise WrongArgument(f"the path of a warehouse is {shortened(path)}", hint="name a folder")
    text = os.fspath(path)
    if not text:
        raise StoreError("the path of a warehouse is empty", hint='name a folder; "." is the current one')
    return text


def locate(path: str | os.PathLike[str]) -> Path:
    """The folder that a path names; `~` and `file:` are understood, other schemes are refused."""
    text = _text(path)
    if (scheme := _SCHEME.match(text)) is None:
        return Path(text).expanduser().absolute()
    if scheme[1].lower() != "file":
        raise StoreError(
            f"a warehouse cannot be at `{text}`: there is no access to {scheme[1]}", hint="name a local folder"
        )
    address = urlsplit(text)
    if address.netloc not in ("", "localhost"):
        raise StoreError(f"`{text}` is a file of another host, {address.netloc}", hint="write file:///path/to/folder")
    return Path(unquote(address.path)).absolute()


def is_warehouse(root: Path) -> bool:
    """Whether a folder holds a warehouse."""
    return (root / MARK).exists() or any((root / LOG).glob("*.log"))


def check_there(root: Path) -> None:
    """Refuse to read a folder without a warehouse."""
    _refuse_file(root)
    if not is_warehouse(root):
        raise StoreError(
            f"there is no warehouse in `{root}`", hint="name the folder of one, or open a new folder for writing"
        )


def check_free(root: Path) -> None:
    """Refuse to create a warehouse in a folder with other files; an unfinished warehouse is fine."""
    _refuse_file(root)
    if not root.exists() or is_warehouse(root):
        return
    strangers = sorted({path.name for path in root.iterdir()} - _OWN - _NOTHING)
    if strangers:
        some = ", ".join(strangers[:3]) + (" …" if len(strangers) > 3 else "")
        raise StoreError(
            f"`{root}` is no warehouse, and there are other things in it: {some}", hint="name a new or an empty folder"
        )


def _refuse_file(root: Path) -> None:
    if root.exists() and not root.is_dir():
        raise StoreError(f"`{root}` is a file, and a warehouse is a folder", hint="name a folder")
