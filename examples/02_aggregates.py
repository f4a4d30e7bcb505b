"""Aggregates of your own: a ring, which forgets what is deleted, and a monoid over an append-only table."""

import tempfile
from typing import Any

import numpy as np

import viewlet


class Balance(viewlet.ColumnAggregate):
    """The mean price weighed by quantity, over whole columns; with an inverse, so that deletions cost as little."""

    state, returns, zero = "money BIGINT, pieces BIGINT", "DOUBLE", (0, 0)

    def fold(self, groups: Any, count: int, weights: Any, *columns: Any) -> Any:
        price, quantity = (column.to_numpy() for column in columns)
        money, pieces = np.zeros(count, np.int64), np.zeros(count, np.int64)
        np.add.at(money, groups, weights * price * quantity)
        np.add.at(pieces, groups, weights * quantity)
        return money, pieces

    def merge(self, a: Any, b: Any) -> Any:
        return tuple(np.add(x, y) for x, y in zip(a, b, strict=True))

    def inverse(self, a: Any) -> Any:
        return tuple(np.negative(x) for x in a)

    def result(self, state: Any) -> Any:
        return np.divide(*state)


class Longest(viewlet.Aggregate):
    """The longest word, row by row; two states merge, but nothing can be taken out of one again."""

    state, returns, zero = "word STRING", "STRING", ("",)

    def update(self, state: Any, weight: int, word: str) -> Any:
        return self.merge(state, (word,))

    def merge(self, a: Any, b: Any) -> Any:
        return min(a, b, key=lambda state: (-len(state[0]), state[0]))

    def result(self, state: Any) -> Any:
        return state[0]


with tempfile.TemporaryDirectory() as folder, viewlet.connect(folder) as db:
    db.register_aggregate("balance", Balance())
    db.register_aggregate("longest", Longest())

    db.sql("CREATE TABLE trades (stock STRING, price BIGINT, quantity BIGINT)")
    db.sql("CREATE MATERIALIZED VIEW prices AS SELECT stock, balance(price, quantity) AS p FROM trades GROUP BY stock")
    db.insert("trades", [("A", 100, 5), ("A", 130, 10), ("B", 7, 1)])
    db.delete("trades", [("A", 100, 5)])
    print("prices:", sorted(db.table("prices").rows()))

    db.sql("CREATE TABLE words (letter STRING, word STRING) APPEND ONLY")
    db.sql("CREATE MATERIALIZED VIEW longest_words AS SELECT letter, longest(word) AS w FROM words GROUP BY letter")
    db.insert("words", [("a", "apple"), ("a", "apricot"), ("b", "bean")])
    db.insert("words", [("b", "banana"), ("a", "ash")])
    print("longest words:", sorted(db.table("longest_words").rows()))

    print(db.explain("prices"))
    print(db.explain("longest_words"))
    assert db.check().num_rows == 0
