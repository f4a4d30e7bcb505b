"""Pictures of the page: those of the documentation, or, with `--all`, of everything, to be looked at.

`python -m tests.ui.screenshots FOLDER [--all]`
"""

from __future__ import annotations

import argparse
import tempfile
from itertools import product
from pathlib import Path

import numpy as np
from PIL import Image

from tests.conftest import small_session
from tests.ui.browser import chromium, opened
from tests.ui.shop import make_shop

PLACES = {
    "graph": "#/graph",
    "view": "#/node/revenue_by_category/plan",
    "about": "#/node/spend_by_country",
    "changes": "#/node/top_customers/changes",
    "loop": "#/node/distances/plan",
    "query": "#/query",
    "epochs": "#/epochs",
    "failures": "#/failures",
}
SHOWN = {"page-graph-light", "page-graph-dark", "page-view-light", "page-epochs-light"}
COLOURS, COMMON = 256, 96


def main(folder: Path, *, everything: bool) -> None:
    """Each place, light and dark, wide and narrow, or those that the documentation shows."""
    folder.mkdir(parents=True, exist_ok=True)
    spark = small_session()
    with (
        tempfile.TemporaryDirectory() as place,
        make_shop(Path(place), spark, 60) as db,
        db.ui() as served,
        chromium() as browser,
    ):
        for scheme, width, (name, address) in product(("light", "dark"), (1360, 400), PLACES.items()):
            title = f"page-{name}-{scheme}{'' if width > 400 else '-narrow'}"
            if not everything and title not in SHOWN:
                continue
            page = opened(browser, served.url + address, width=width, scheme=scheme)
            page.wait_for_timeout(600)
            page.screenshot(path=folder / f"{title}.png")
            page.close()
            shrink(folder / f"{title}.png")
    spark.stop()


def shrink(file: Path) -> None:
    """Fewer colours, the common ones as they are and the rare ones near: a third of the bytes, and nothing that one sees."""
    with Image.open(file) as opened_file:
        picture = opened_file.convert("RGB")
    colours, counts = np.unique(np.asarray(picture).reshape(-1, 3), axis=0, return_counts=True)
    common = colours[np.argsort(-counts)[:COMMON]].ravel().tolist()
    rare = picture.quantize(COLOURS - COMMON, Image.Quantize.MAXCOVERAGE).getpalette() or []
    palette = Image.new("P", (1, 1))
    palette.putpalette([*common, *rare][: 3 * COLOURS])
    picture.quantize(palette=palette, dither=Image.Dither.NONE).save(file, optimize=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    main(arguments.folder, everything=arguments.all)
