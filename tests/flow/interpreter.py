"""The model of §2 and the scheduler of §4.2, in the plainest way: lists and dicts, one thread, nothing stored.

It shares no code with the product: framing, runnability, routing and scheduling are written here once more.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from tests.flow.programs import In, Row, Spec, StageSpec, by_rows, route, translate


class Queue:
    """What waits on one input of one stage."""

    def __init__(self) -> None:
        self.complete: list[tuple[Any, list[Row]]] = []
        self.growing: tuple[Any, list[Row]] | None = None
        self.memory: Any = None
        self.first_was_read = False

    def put(self, how: In, rows: list[Row], number: int) -> None:
        if how.framing == "run":
            self.complete.append((number, rows))
            return
        for row in rows:
            key, closes = self._frame(how.framing, row)
            if self.growing is not None and self.growing[0] != key:
                self.complete.append(self.growing)
                self.growing = None
            if self.growing is None:
                self.growing = (key, [])
            self.growing[1].append(row)
            if closes:
                self.complete.append(self.growing)
                self.growing = None

    def _frame(self, how: str, row: Row) -> tuple[Any, bool]:
        if how == "column":
            return row["v"], False
        if how == "count":
            self.memory = (self.memory or 0) + 1
            return (self.memory - 1) // 2, self.memory % 2 == 0
        if how == "punctuation":
            number = self.memory or 0
            self.memory = number + (row["v"] == 0)
            return number, row["v"] == 0
        number, total = self.memory or (0, 0)
        self.memory = (number, total + row["v"]) if total + row["v"] < 5 else (number + 1, 0)
        return self.memory[0], False

    def has_unread(self) -> bool:
        return len(self.complete) > (1 if self.first_was_read else 0)

    def take(self, *, remove: bool) -> list[Row]:
        rows = self.complete[0][1]
        self.first_was_read = not remove
        if remove:
            self.complete.pop(0)
        return rows


class Interpreter:
    """A flow, interpreted."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.stages = {s.name: s for s in spec.stages}
        self.queues = {s.name: {i.flow: Queue() for i in s.inputs} for s in spec.stages if s.form != "row"}
        self.states: dict[str, list[Row]] = {s.name: [] for s in spec.stages if s.state != "none"}
        self.tables: dict[str, list[Row]] = {o.flow: [] for s in spec.stages for o in s.outputs if o.is_kept}
        self.memory: dict[str, Any] = defaultdict(lambda: None)
        self.runs = dict.fromkeys(self.queues, 0)
        self.since: dict[str, int] = {}
        self.turn = 0
        self.trace: list[str] = []

    def run(self, given: dict[str, list[Row]], epoch: int, most: int) -> None:
        """Take in rows, then run so many stages at most."""
        for source in self.spec.sources:
            if given.get(source):
                self.write(source, given[source], epoch)
        for _ in range(most):
            if not self.step():
                return

    def write(self, flow: str, rows: list[Row], number: int) -> None:
        for name, queues in self.queues.items():
            if flow in queues:
                how = next(i for i in self.stages[name].inputs if i.flow == flow)
                queues[flow].put(how, rows, number)
        if flow in self.tables:
            self.tables[flow] += rows
        for stage in self.spec.stages:
            if stage.form == "row" and stage.inputs[0].flow == flow:
                written: dict[str, list[Row]] = defaultdict(list)
                for row in rows:
                    for name, more in by_rows(stage, row).items():
                        written[name] += more
                self.write_outputs(stage, written, number)

    def write_outputs(self, stage: StageSpec, written: dict[str, list[Row]], number: int) -> None:
        for out in stage.outputs:
            if written.get(out.flow) or out.every_run:
                self.write(out.flow, written.get(out.flow, []), number)

    def step(self) -> bool:
        """Run the stage whose turn it is; whether there was one."""
        answers = {name: self.decide(self.stages[name]) for name in self.queues}
        ready = {name: answer for name, answer in answers.items() if answer is not None}
        self.turn += 1
        self.since = {name: self.since.get(name, self.turn) for name in ready}
        free = [n for n in ready if not (self.spec.backpressure and self.is_blocked(self.stages[n]))]
        order = sorted(free or ready, key=lambda n: (self.runs[n], self.since[n], list(self.queues).index(n)))
        if not order:
            return False
        self.execute(self.stages[order[0]], *ready[order[0]])
        return True

    def decide(self, stage: StageSpec) -> tuple[list[str], list[str], Any] | None:
        """What to read, what to remove, and what to remember."""
        queues = self.queues[stage.name]
        names = [i.flow for i in stage.inputs]
        ready = [n for n in names if queues[n].complete]
        everything = len(ready) == len(names)
        match stage.runnable:
            case "all":
                return (names, names, None) if everything else None
            case "any":
                return (ready, ready, None) if ready else None
            case "prefer":
                times, others = self.memory[stage.name] or 0, [n for n in ready if n != names[0]]
                if names[0] in ready and (times < 2 or not others):
                    return names[:1], names[:1], min(times + 1, 2)
                return (others, others, 0) if others else None
            case "temporal":
                if not everything:
                    return None
                least = min(queues[n].complete[0][0] for n in names)
                found = [n for n in names if queues[n].complete[0][0] == least]
                return found, found, None
            case "look up":
                return (names, names[:-1], None) if everything else None
            case _:
                two = len(queues[names[0]].complete) > 1
                return (names[:1], names[:1], (self.memory[stage.name] or 0) + 1) if two else None

    def is_blocked(self, stage: StageSpec) -> bool:
        flows = [o.flow for o in stage.outputs]
        for flow in flows:
            for other in self.spec.stages:
                if other.form == "row" and other.inputs[0].flow == flow:
                    flows += [o.flow for o in other.outputs]
        if any(flow in self.tables for flow in flows):
            return False
        read = [[q[flow] for q in self.queues.values() if flow in q] for flow in flows]
        return any(read) and all(queue.has_unread() for queues in read for queue in queues)

    def execute(self, stage: StageSpec, read: list[str], removed: list[str], memory: Any) -> None:
        if stage.runnable == "look up":  # the newest of those that are looked up
            last = self.queues[stage.name][stage.inputs[-1].flow]
            last.complete = last.complete[-1:]
        taken = {n: self.queues[stage.name][n].take(remove=n in removed) for n in read}
        self.memory[stage.name] = memory
        self.runs[stage.name] += 1
        del self.since[stage.name]
        self.trace.append(stage.name)
        groups = self.group(stage, taken)
        state = self.states.get(stage.name)
        written: dict[str, list[Row]] = defaultdict(list)
        for key, inputs in groups:
            own = None if state is None else sorted((r for r in state if r["k"] == key), key=_ordered)
            for name, rows in translate(stage, key, inputs, own).items():
                written[name] += rows
        if state is not None:
            visited = [key for key, _ in groups]
            self.states[stage.name] = [r for r in state if r["k"] not in visited] + written["state"]
        self.write_outputs(stage, written, self.runs[stage.name])

    def group(self, stage: StageSpec, taken: dict[str, list[Row]]) -> list[tuple[Any, dict[str, list[Row]]]]:
        """The groups in their order, each with its rows of each input."""
        routes = {i.flow: [route(i.route, row) for row in taken[i.flow]] for i in stage.inputs if i.flow in taken}
        keys: list[Any] = []
        for found in routes.values():
            keys += [key for answer in found if answer != "ALL" for key in answer if key not in keys]
            keys = list(dict.fromkeys(keys))
        if stage.state == "full":
            alone = {r["k"] for r in self.states[stage.name]} - set(keys)
            keys += sorted(alone, key=lambda k: (k is not None, k))
        result = []
        for key in keys:
            inputs = {}
            for i in stage.inputs:
                pairs = zip(taken.get(i.flow, []), routes.get(i.flow, []), strict=True)
                rows = [row for row, answer in pairs if answer == "ALL" or key in answer]
                inputs[i.flow] = sorted(rows, key=_by_value) if i.ordered else rows
            result.append((key, inputs))
        return result


def _ordered(row: Row) -> tuple[Any, ...]:
    """In the order of all columns, NULL first."""
    return (row["k"] is not None, row["k"], row["v"])


def _by_value(row: Row) -> tuple[Any, ...]:
    return (row["v"], row["k"] is not None, row["k"])
