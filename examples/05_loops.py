"""Shortest paths and PageRank of a graph that changes: only the rounds that a change reaches run again."""

import tempfile

import viewlet
from viewlet import loops

with tempfile.TemporaryDirectory() as folder, viewlet.connect(folder) as db:
    db.sql("CREATE TABLE edges (src BIGINT, dst BIGINT, w BIGINT)")
    db.insert("edges", [(0, 1, 4), (0, 2, 1), (2, 1, 2), (1, 3, 5), (3, 1, 0)])
    db.sql("""CREATE MATERIALIZED VIEW distances AS
        WITH RECURSIVE d(v, cost, via) USING KEY (v) AS (
          SELECT 0, 0, NULL UNION
          SELECT e.dst, min(d.cost + e.w), min_by(d.v, d.cost + e.w)
          FROM d JOIN edges e ON e.src = d.v GROUP BY e.dst)
        SELECT v, cost, via FROM d""")
    db.create_view("ranks", loops.pagerank("edges", tolerance=1e-6))
    print("distances:", sorted(db.table("distances").rows()))
    print("ranks:", sorted(db.table("ranks").rows()))

    db.delete("edges", [(2, 1, 2)])
    print("without the edge from 2 to 1:", sorted(db.table("distances").rows()))
    with db.epoch() as e:  # the cycle of 1 and 3 is cut off: nothing leads there any more
        e.delete("edges", [(0, 1, 4)])
    print("cut off:", sorted(db.table("distances").rows()))

    print(db.explain("distances"))
    assert db.check("distances").num_rows == 0
