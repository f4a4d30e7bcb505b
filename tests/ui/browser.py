"""Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without a window."""
    found = next((path for name in (os.environ.get("CHROMIUM", ""), *NAMES) if (path := shutil.which(name))), None)
    if found is None:
        pytest.fail("Chromium is missing: run tools/need-chromium", pytrace=False)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


def opened(browser: Browser, url: str, *, width: int = 1360, height: int = 860, scheme: str = "light") -> Page:
    """The page, loaded; whatever goes wrong in it is in `page.wrong`."""
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.wrong = wrong  # type: ignore[attr-defined]
    page.goto(url)
    page.wait_for_selector("body[data-ready]")
    return page
