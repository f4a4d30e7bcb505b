"""A table, a view, a view over it, and what happens to them when the data change."""

import tempfile

import viewlet

with tempfile.TemporaryDirectory() as folder, viewlet.connect(folder) as db:
    db.sql("CREATE TABLE orders (id BIGINT, cust BIGINT, total DECIMAL(12,2), PRIMARY KEY (id))")
    db.sql("CREATE MATERIALIZED VIEW spend AS SELECT cust, sum(total) AS total FROM orders GROUP BY cust")
    db.sql("CREATE MATERIALIZED VIEW big AS SELECT * FROM spend WHERE total > 100")

    first = db.insert("orders", [(1, 7, "80.00"), (2, 7, "40.00"), (3, 9, "15.50")])
    print("big customers:", db.table("big").rows())

    with db.epoch() as e:
        e.upsert("orders", [{"id": 3, "cust": 9, "total": "150.50"}])
        e.delete("orders", [(2,)])
    print("after the second epoch:", db.table("big").rows())
    print("what it changed:", db.table("big").changes(since=first).to_pylist())

    print(db.explain("spend"))
    assert db.check("spend").num_rows == 0
    assert db.check("big").num_rows == 0
