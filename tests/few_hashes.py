"""Rows whose hashes collide, as they never do by chance."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from viewlet.columns.hash import Hashes, hash_rows


def few_hashes(patch: pytest.MonkeyPatch, different: int) -> None:
    """As if there were only so many hashes of rows, whoever computes them."""

    def few(columns: Sequence[pa.Array], length: int, seed: int = 0) -> Hashes:
        return hash_rows(columns, length, seed) % np.uint64(different)

    for name, module in list(sys.modules.items()):
        if name.startswith("viewlet.") and getattr(module, "hash_rows", None) is hash_rows:
            patch.setattr(module, "hash_rows", few)
