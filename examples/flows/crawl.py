"""The crawl queue of figure 1: which pages to fetch next, by how often pages fetched so far link to them.

    pages → extract links → count in-links → merge → score → threshold → queue

A page's score is the number of links to it, and a tenth of the number of links to its site, both as they were when the
page was last linked to. What was fetched leaves the queue.
"""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import viewlet
from viewlet import flow

Row = dict[str, Any]
PAGES = "url STRING, text STRING"
THRESHOLD = 3.0
_LINK = re.compile(r'href="([^"]+)"')


def site_of(url: str) -> str:
    return url.split("/")[2]


def crawl_queue(grouping: flow.Grouping = "right outer") -> flow.Flow:
    """The flow; its source `pages` is given each crawl. With "full outer" grouping each run moves all of the state."""
    crawl = flow.Flow("crawl")
    crawl.source("pages", schema=PAGES)
    links = flow.Output("site STRING, url STRING", every_run=True)  # a crawl without links is a crawl, too
    crawl.row_wise("pages", {"links": links, "fetched": "site STRING, url STRING"})(extract_links)
    counts = {
        "url_counts": flow.Output("site STRING, url STRING, n BIGINT", every_run=True),
        "site_counts": flow.Output("site STRING, n BIGINT", every_run=True),
    }
    crawl.stage(
        inputs={"links": both_granularities},
        outputs=counts,
        state=flow.State("site STRING, url STRING, n BIGINT", route_by=("site", "url"), grouping=grouping),
    )(count_in_links)
    crawl.stage(
        inputs={
            "url_counts": flow.Input("site", order_by="url"),
            "site_counts": "site",
            "fetched": flow.Input("site", order_by="url"),
        },
        outputs={"merged": "url STRING, n BIGINT, site_n BIGINT, is_fetched BOOLEAN"},
        state=flow.State("site STRING, url STRING", route_by="site", grouping=grouping),
        vectorized=True,
    )(merge)
    crawl.row_wise("merged", {"scored": "url STRING, score DOUBLE"})(score)
    queue = flow.Output("url STRING, score DOUBLE, _change_type STRING", table="crawl_queue", primary_key="url")
    crawl.row_wise("scored", {"queue": queue})(threshold)
    return crawl


def extract_links(page: Row) -> Iterator[tuple[str, Row]]:
    for url in _LINK.findall(page["text"]):
        yield "links", {"site": site_of(url), "url": url}
    yield "fetched", {"site": site_of(page["url"]), "url": page["url"]}


def both_granularities(link: Row) -> list[tuple[str, str | None]]:
    """A link counts for its page and for its site."""
    return [(link["site"], link["url"]), (link["site"], None)]


def count_in_links(key: tuple[str, str | None], inputs: dict[str, list[Row]], state: list[Row]) -> Iterator[Any]:
    site, url = key
    n = len(inputs["links"]) + sum(row["n"] for row in state)
    yield "state", (site, url, n)
    if inputs["links"]:
        yield ("site_counts", (site, n)) if url is None else ("url_counts", (site, url, n))


def merge(keys: pa.Table, inputs: dict[str, pa.Table], state: pa.Table) -> dict[str, pa.Table]:
    """The pages that were linked to and never fetched, with both counts; and those that were fetched just now."""
    urls, fetched = inputs["url_counts"], inputs["fetched"]
    visited = pa.concat_tables([state.select(["site", "url"]), fetched.select(["site", "url"])])
    new = urls.filter(pc.invert(pc.is_in(urls["url"], value_set=visited["url"])))
    site_counts = np.zeros(len(keys), dtype=np.int64)
    site_counts[inputs["site_counts"]["_group"].to_numpy()] = inputs["site_counts"]["n"].to_numpy()
    linked = {"url": new["url"], "n": new["n"], "site_n": pa.array(site_counts[new["_group"].to_numpy()])}
    left = {
        "url": fetched["url"],
        "n": pa.nulls(len(fetched), pa.int64()),
        "site_n": pa.nulls(len(fetched), pa.int64()),
    }
    rows = [
        pa.table({**columns, "is_fetched": pa.array([is_fetched] * len(columns["url"]), pa.bool_())})
        for columns, is_fetched in ((linked, False), (left, True))
    ]
    return {"merged": pa.concat_tables(rows), "state": visited.group_by(["site", "url"]).aggregate([])}


def score(row: Row) -> list[Row]:
    return [{"url": row["url"], "score": None if row["is_fetched"] else row["n"] + row["site_n"] / 10}]


def threshold(row: Row) -> list[Row]:
    if row["score"] is None:
        return [{**row, "_change_type": "delete"}]
    return [{**row, "_change_type": "insert"}] if row["score"] >= THRESHOLD else []


def crawl(rng: random.Random, pages: int, sites: int, links: int) -> list[tuple[str, str]]:
    """Some pages of a made-up web: pages of few sites and with low numbers are linked to most."""
    return [(_url(rng, sites), _text(rng, sites, links)) for _ in range(pages)]


def _url(rng: random.Random, sites: int) -> str:
    site = int(sites * rng.random() ** 3)
    return f"http://s{site}.example/{int(rng.expovariate(0.02))}"


def _text(rng: random.Random, sites: int, links: int) -> str:
    return " ".join(f'<a href="{_url(rng, sites)}">' for _ in range(rng.randrange(2 * links)))


def main() -> None:
    """Three crawls; after each, how long the queue is, and what comes first."""
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as folder, viewlet.connect(folder) as db:
        db.create_flow(crawl_queue())
        for number in range(3):
            db.run_flow("crawl", {"pages": crawl(rng, pages=50, sites=8, links=5)})
            queue = sorted(db.table("crawl_queue").rows(), key=lambda row: (-row[1], row[0]))
            print(f"crawl {number}: {len(queue)} pages wait, {queue[0][0]} first")


if __name__ == "__main__":
    main()
