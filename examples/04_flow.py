"""A flow: payments that stand out among the last ones of their card, by a limit that can be changed while it runs."""

import tempfile
from typing import Any

import viewlet
from viewlet import flow

watch = flow.Flow("watch")
watch.source("payments")  # the changes of table payments
watch.source("limits", schema="factor DOUBLE")  # given to run_flow


@watch.stage(
    inputs={"payments": flow.Input("card", order_by="id"), "limits": flow.ALL},
    state=flow.State("card STRING, id BIGINT, amount BIGINT", route_by="card", order_by="id"),
    outputs={"alerts": flow.Output("id BIGINT, card STRING, amount BIGINT", table="alerts", primary_key="id")},
    runnable=flow.look_up("limits"),  # the newest limit is read, and stays
)
def judge(card: str, inputs: dict[str, list[Any]], state: list[Any]) -> Any:
    """Compares each payment with the mean of the five before it; these are the state."""
    recent = [(row["id"], row["amount"]) for row in state]
    for payment in inputs["payments"]:
        usual = sum(amount for _, amount in recent) / len(recent) if recent else payment["amount"]
        if payment["amount"] > usual * inputs["limits"][0]["factor"]:
            yield "alerts", {name: payment[name] for name in ("id", "card", "amount")}
        recent = [*recent, (payment["id"], payment["amount"])][-5:]
    for number, amount in recent:
        yield "state", (card, number, amount)


with tempfile.TemporaryDirectory() as folder, viewlet.connect(folder) as db:
    db.create_table("payments", "id BIGINT, card STRING, amount BIGINT", append_only=True)
    db.create_flow(watch)
    db.sql("CREATE MATERIALIZED VIEW alerts_by_card AS SELECT card, count(*) AS n FROM alerts GROUP BY card")

    db.insert("payments", [(1, "A", 20), (2, "A", 30), (3, "B", 500), (4, "A", 90), (5, "B", 600)])
    print(db.run_flow("watch", {"limits": [(3.0,)]}))
    print("alerts:", db.table("alerts").rows())

    db.delete("watch_judge", [("A", 4, 90)])  # that one was a mistake: state is a table
    db.insert("payments", [(6, "A", 80), (7, "B", 1_200)])
    db.run_flow("watch", {"limits": [(2.0,)]})
    print("alerts:", sorted(db.table("alerts").rows()))
    print("by card:", sorted(db.table("alerts_by_card").rows()))

    for run in db.flow_trace("watch"):
        print(run["stage"], "read", run["read"], "wrote", run["written"], "because:", run["why"])
    assert db.check().num_rows == 0
