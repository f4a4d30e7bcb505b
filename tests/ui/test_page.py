"""The page in a real browser: what it shows beside what the warehouse says, live, with keys, on narrow screens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

import viewlet
from tests.marks import THOROUGH
from tests.ui.browser import chromium, opened
from tests.ui.shop import fail, make_shop
from viewlet.ui.server import Page as Served

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
TABS = ("about", "plan", "rows", "changes", "epochs")


@pytest.fixture(scope="module")
def db(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[viewlet.Database]:
    with make_shop(tmp_path_factory.mktemp("ui"), spark) as db:
        yield db


@pytest.fixture(scope="module")
def served(db: viewlet.Database) -> Iterator[Served]:
    with db.ui() as page:
        yield page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser, served: Served) -> Iterator[Page]:
    page = opened(browser, served.url)
    yield page
    assert not page.wrong  # type: ignore[attr-defined]
    page.close()


def go(page: Page, place: str) -> None:
    page.evaluate("place => { location.hash = place }", place)


def cells(table: Locator) -> list[list[str]]:
    rows = table.locator("tbody tr").all()
    return [[cell.inner_text() for cell in row.locator("td").all()] for row in rows]


def test_the_graph_shows_everything(db: viewlet.Database, page: Page) -> None:
    expect(page.locator(".node")).to_have_count(len(db.graph()["nodes"]))
    expect(page.locator(".edges path")).to_have_count(len(db.graph()["edges"]))
    kinds = {"source", "table", "view", "loop", "matrix", "signal", "flow", "sink", "aside"}
    shown = page.locator(".legend li").all_inner_texts()
    assert set(shown) == kinds
    fail(db)  # as the last epoch, whatever other tests committed
    page.reload()
    expect(page.locator(".node.failed .name")).to_contain_text(["order_lines", "price_share"])
    rows = f"{len(db.table('order_totals')):,} rows"
    expect(page.locator('.node[data-id="order_totals"] .more')).to_contain_text(rows)


def test_a_chosen_node_lights_up_what_it_depends_on(page: Page) -> None:
    page.set_viewport_size({"width": 2400, "height": 1000})
    page.keyboard.press("0")
    page.locator('.node[data-id="spend_by_country"]').click()
    expect(page.locator("#detail h2")).to_have_text("spend_by_country")
    expect(page.locator(".edges path.lit")).to_have_count(4)
    lit = page.locator(".node:not(.dim)").evaluate_all("nodes => nodes.map(node => node.dataset.id)")
    assert set(lit) == {"spend_by_country", "order_totals", "customers", "orders", "order_lines"}
    page.keyboard.press("Escape")
    expect(page.locator("#detail")).to_be_hidden()
    expect(page.locator(".node.dim")).to_have_count(0)


def test_a_view_says_how_it_is_kept(db: viewlet.Database, page: Page) -> None:
    found = db.describe("revenue_by_category")
    go(page, "#/node/revenue_by_category")
    expect(page.locator("#detail .code").first).to_have_text(found["statement"])
    go(page, "#/node/revenue_by_category/plan")
    expect(page.locator(".operators li")).to_have_count(len(found["operators"]))
    assert page.locator(".operators .tier").all_inner_texts() == [o["tier"] for o in found["operators"] if o["tier"]]
    reasons = [o["reason"] for o in found["operators"] if o["reason"]]
    assert page.locator(".operators p").all_inner_texts() == reasons
    assert reasons
    maps = page.locator(".maps li").all_inner_texts()
    assert len(maps) == len(found["maps_kept"])
    assert all(f"{m['rows']:,} row" in text for m, text in zip(found["maps_kept"], maps, strict=True))
    expect(page.locator("#detail pre")).to_have_text(db.explain("revenue_by_category", verbose=True))


def test_the_rounds_of_a_loop_are_drawn(db: viewlet.Database, page: Page) -> None:
    go(page, "#/node/distances/plan")
    rounds = db.describe("distances")["rounds"]
    expect(page.locator("#detail .chart .bar")).to_have_count(len(rounds))
    titles = page.locator("#detail .chart .bar title").all_text_contents()
    assert titles == [f"round {number}: {size:,} rows changed" for number, size in rounds.items()]


@pytest.mark.parametrize(
    "name", ["fit", "loudness", "distances", "alarms", "source:products", "flow:watch", "sink:crm:top_customers"]
)
def test_every_kind_of_node_opens(db: viewlet.Database, page: Page, name: str) -> None:
    go(page, f"#/node/{name}")
    expect(page.locator("#detail h2")).to_have_text(db.describe(name)["name"])
    expect(page.locator("#detail .problem")).to_have_count(0)


def test_rows_and_history_are_those_of_the_warehouse(db: viewlet.Database, page: Page) -> None:
    go(page, "#/node/spend_by_country/rows")
    page.wait_for_selector("#detail .rows tbody tr")
    shown = cells(page.locator("#detail .rows table"))
    assert sorted(shown) == sorted([str(v) for v in row] for row in db.table("spend_by_country").rows())
    go(page, "#/node/spend_by_country/epochs")
    expect(page.locator("#detail .space .epoch")).to_have_count(len(db.history("spend_by_country")))


def test_changes_appear_as_they_are_committed(db: viewlet.Database, page: Page) -> None:
    go(page, "#/node/customers/changes")
    page.wait_for_selector(".changes section")
    number = db.insert("customers", [(900, "O'Neil <b>", "IE")])
    newest = page.locator(".changes section").first
    expect(newest.locator("h3")).to_have_text(f"Epoch {number}")
    assert cells(newest.locator("table")) == [["900", "O'Neil <b>", "IE"]]
    expect(newest.locator("tr.plus")).to_have_count(1)
    expect(page.locator("#epoch")).to_contain_text(f"epoch {number}")


def test_the_history_of_epochs(db: viewlet.Database, page: Page) -> None:
    go(page, "#/epochs")
    page.wait_for_selector(".space .epoch .n")
    number = db.insert("customers", [(901, "Ann", "IE")])
    newest = page.locator(".space .epoch").filter(has=page.locator(f".n:text-is('{number}')"))
    expect(newest.locator(".what")).to_have_text("customers +1")
    (record,) = db.history(since=number - 1)
    touched = record["views"]
    handled, anew = (sum(v["weighed"][how] for v in touched.values()) for how in ("increment", "recompute"))
    expect(newest.locator(".engine")).to_have_text(record["engine"])
    expect(newest.locator(".views")).to_have_text(str(len(touched)))
    expect(newest.locator(".speed")).to_have_attribute(
        "title", f"{handled:,} rows handled; recomputing handles {anew:,}"
    )
    newest.click()
    assert {row[0] for row in cells(page.locator(".chosen table"))} == set(touched)
    assert page.locator(".epochs-page .chart .bar").count() == min(120, db.last_epoch)


def test_a_failure_shows_the_row_that_is_the_cause(page: Page) -> None:
    go(page, "#/failures")
    card = page.locator(".failure").first
    expect(card).to_contain_text("price_share")
    expect(card).to_contain_text("quantity")
    assert cells(card.locator("table")) == [["0", "1", "0", "9.99"]]


def test_a_query_is_answered(db: viewlet.Database, page: Page) -> None:
    page.keyboard.press("q")
    page.fill("#sql", "SELECT country, total FROM spend_by_country ORDER BY country")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".result table", timeout=60_000)
    wanted = sorted((r[0], str(r[2])) for r in db.table("spend_by_country").rows())
    assert [tuple(row) for row in cells(page.locator(".result table"))] == wanted
    page.fill("#sql", "DROP TABLE customers")
    page.click("text=Run")
    expect(page.locator(".result .problem")).to_contain_text("reading only")
    assert "customers" in db.tables
    assert [text for text in page.wrong if "400" not in text] == []  # type: ignore[attr-defined]
    page.wrong.clear()  # type: ignore[attr-defined]


def test_the_keyboard_is_enough(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("top_c")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#detail h2")).to_have_text("top_customers")
    page.keyboard.press("Escape")
    page.locator("body").press("e")
    page.wait_for_selector(".epochs-page")
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.wait_for_selector(".graph")
    page.keyboard.press("0")
    page.wait_for_timeout(100)
    before = page.locator(".graph > g").get_attribute("transform")
    page.keyboard.press("+")
    expect(page.locator(".graph > g")).not_to_have_attribute("transform", before or "")
    page.keyboard.press("0")
    expect(page.locator(".graph > g")).to_have_attribute("transform", before or "")


def test_a_read_only_page_has_no_buttons_that_write(page: Page) -> None:
    go(page, "#/node/order_totals")
    page.wait_for_selector("#detail .tiles")
    expect(page.locator(".actions")).to_have_count(0)
    expect(page.locator("#mode")).to_have_text("read-only")


def test_its_owner_refreshes_and_checks(db: viewlet.Database, browser: Browser) -> None:
    with db.ui(write=True) as served:
        page = opened(browser, f"{served.url}#/node/spend_by_country")
        page.click("text=Check")
        expect(page.locator("#detail .good")).to_contain_text("Equal", timeout=60_000)
        before = db.last_epoch
        page.click("text=Recompute")
        expect(page.locator("#detail .good")).to_contain_text(f"Epoch {before + 1}", timeout=60_000)
        assert db.history()[-1]["kind"] == "rebuild"
        go(page, "#/node/products")
        page.click("text=Read source")
        expect(page.locator("#detail .good")).to_contain_text("nothing new")
        page.close()


@pytest.mark.parametrize(
    ("scheme", "width"),
    [
        ("light", 1360),
        ("dark", 400),
        pytest.param("dark", 1360, marks=pytest.mark.slow),
        pytest.param("light", 400, marks=pytest.mark.slow),
    ],
)
def test_nothing_is_hard_to_read_or_to_reach(
    db: viewlet.Database, browser: Browser, served: Served, scheme: str, width: int
) -> None:
    fail(db)  # beside the one that is there
    page = opened(browser, served.url, width=width, scheme=scheme)
    places = ["graph", "list", "epochs", "query", "failures"] + [f"node/order_totals/{tab}" for tab in TABS]
    for place in places if THOROUGH else places[width < 1000 :: 2]:
        go(page, f"#/{place}")
        page.wait_for_timeout(150)
        found = Axe().run(page)
        assert found.violations_count == 0, f"{place}: {found.generate_report()}"
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{place} is wider than the screen"
    page.close()


def test_the_theme_is_chosen_and_kept(browser: Browser, served: Served) -> None:
    page = opened(browser, served.url)
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    for _ in range(2):
        page.click("#theme")
    dark = page.evaluate(ground)
    assert light != dark
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert page.evaluate(ground) == dark
    page.close()


def test_a_narrow_screen_shows_one_thing_at_a_time(browser: Browser, served: Served) -> None:
    page = opened(browser, f"{served.url}#/list", width=400)
    expect(page.locator("#main")).to_be_hidden()
    page.locator(".item", has_text=re.compile("order_totals")).click()
    expect(page.locator("#detail h2")).to_have_text("order_totals")
    expect(page.locator("#side")).to_be_hidden()
    page.click(".close")
    expect(page.locator("#side")).to_be_visible()
    page.close()


def test_names_of_users_are_text(db: viewlet.Database, browser: Browser, served: Served, tmp_path: Path) -> None:
    db.create_table("<img src=x onerror=alert(1)>", "`<b>` INT")
    page = opened(browser, served.url)
    go(page, "#/node/%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E")
    expect(page.locator("#detail h2")).to_have_text("<img src=x onerror=alert(1)>")
    assert page.locator("#detail img, #list img").count() == 0
    page.close()
    db.drop("<img src=x onerror=alert(1)>")
