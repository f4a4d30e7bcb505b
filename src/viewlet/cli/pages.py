"""`viewlet ui`: the warehouse in a browser."""

from __future__ import annotations

import argparse
import webbrowser
from collections.abc import Callable
from typing import TYPE_CHECKING

from viewlet.ui.permissions import is_loopback
from viewlet.ui.server import page

if TYPE_CHECKING:
    from viewlet.database import Database


def add_ui_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the address of the page and its permissions."""
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="default: only this machine")
    parser.add_argument("--port", type=int, default=7878, help="default: 7878; 0 takes a free one")
    parser.add_argument("--write", action="store_true", help="allow statements, refresh and check; takes the lock")
    parser.add_argument("--token", metavar="TEXT", help="required if other machines can connect; default: a new one")
    parser.add_argument("--name", action="append", default=[], metavar="HOST", help="a host name that visitors may use")
    parser.add_argument("--open", action="store_true", help="open it in a browser")


def ui(arguments: argparse.Namespace, open_warehouse: Callable[..., Database]) -> int:
    """Serve the page until interrupted."""
    with open_warehouse(arguments, write=arguments.write) as db:
        served = page(
            db,
            arguments.host,
            arguments.port,
            write=arguments.write,
            token=arguments.token,
            names=arguments.name,
        )
        print(served.url, flush=True)
        if not is_loopback(arguments.host):
            print("anyone who has this address sees the warehouse; the connection is not encrypted", flush=True)
        if arguments.open:
            webbrowser.open(served.url)
        served.run()
    return 0
