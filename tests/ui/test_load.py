"""Five hundred views and ten thousand epochs: the page loads at once, and scrolls."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser

import viewlet
from tests.ui.browser import chromium, opened
from viewlet.ui.server import Page as Served

pytestmark = pytest.mark.slow
VIEWS, EPOCHS, TABLES = 500, 10_000, 20
SCROLL = """async (selector) => {
  const box = document.querySelector(selector), frames = [];
  let last = performance.now();
  for (let i = 0; i < 90; i++) {
    box.scrollTop += 700;
    await new Promise(requestAnimationFrame);
    frames.push(performance.now() - last);
    last = performance.now();
  }
  return frames;
}"""

LOADED = """() => {
  const rows = [...document.querySelectorAll('.space .epoch')];
  return rows.length > 0 && rows.every(row => row.querySelector('.n'));
}"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A page that has seen many epochs of a warehouse with many views, which keeps fewer itself."""
    with viewlet.connect(tmp_path_factory.mktemp("many") / "w", durability=1_000) as db:
        for number in range(TABLES):
            db.create_table(f"readings_{number}", "machine STRING, at TIMESTAMP, mm DOUBLE")
        for number in range(VIEWS):
            readings = db.signal(f"readings_{number % TABLES}", by="machine", time="at", value="mm")
            db.create_signal(f"level_{number}", readings.sample("1 s").scale(number + 1))
        db.create_table("ticks", "n BIGINT", append_only=True)
        with db.ui() as served:
            for number in range(EPOCHS + 100):
                db.insert("ticks", [(number,)])
                if number % 500 == 499:
                    urlopen(f"{served.url}api/epochs?most=1").close()
            yield served


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


def test_it_loads_within_a_second(browser: Browser, served: Served) -> None:
    taken = []
    for _ in range(5):
        page = opened(browser, served.url)
        page.wait_for_selector(".node")
        taken.append(page.evaluate("performance.now()") / 1_000)
        page.close()
    assert min(taken) < 1, f"it took {taken} seconds"


def test_ten_thousand_epochs_scroll(browser: Browser, served: Served) -> None:
    page = opened(browser, f"{served.url}#/epochs")
    page.wait_for_selector(".space .epoch .n")
    frames = page.evaluate(SCROLL, ".epochs .scroll")
    assert statistics.median(frames) < 34, frames
    assert page.locator(".space .epoch").count() < 100
    page.evaluate("document.querySelector('.epochs .scroll').scrollTop = 1e9")
    page.wait_for_function(LOADED)
    assert page.evaluate("document.querySelector('.epochs .space').clientHeight") == EPOCHS * 34
    page.close()


def test_five_hundred_views_pan_and_scroll(browser: Browser, served: Served) -> None:
    page = opened(browser, served.url)
    page.wait_for_selector(".node")
    assert page.locator(".node").count() > VIEWS
    frames = page.evaluate(SCROLL, "#list")
    assert statistics.median(frames) < 34, frames
    assert page.locator(".item").count() < 60
    page.mouse.move(800, 400)
    page.mouse.wheel(0, -900)
    page.wait_for_timeout(300)
    assert page.locator(".node").count() < VIEWS / 2  # what is out of sight is not there
    page.close()


def test_every_epoch_is_there(served: Served, tmp_path: Path) -> None:
    with urlopen(f"{served.url}api/epochs?most=1") as answer:
        assert f'"total":{EPOCHS}'.encode() in answer.read()
