"""A maintained program: its matrices always equal the program's results for its current inputs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from viewlet.matrix.algebra.ops import Program, shapes_in
from viewlet.matrix.algebra.sizes import measured, show_shape
from viewlet.matrix.arrays.evaluate import is_view
from viewlet.matrix.blocks.buffer import LargeBuffer, buffer_of, factors_of
from viewlet.matrix.blocks.evaluate import Blocks, Evaluate, evaluating
from viewlet.matrix.blocks.large import is_large
from viewlet.matrix.blocks.nodes import Stored
from viewlet.matrix.codec import dumps, loads
from viewlet.matrix.compile.compiled import Compiled, extents_of
from viewlet.matrix.compile.cost import Costs, Kind, Spread, kind_of
from viewlet.matrix.compile.explain import explain
from viewlet.matrix.compile.strategy import Plan, plan
from viewlet.matrix.delta.changes import Change, Dense, Factored
from viewlet.matrix.delta.factors import Array, Factor, Indices
from viewlet.matrix.delta.resize import Frame
from viewlet.matrix.errors import RejectedEpoch, ShapeError, UnknownName
from viewlet.matrix.refresh.buffers import Buffer
from viewlet.matrix.refresh.from_scratch import evaluate_source, relative_error
from viewlet.matrix.refresh.health import Health
from viewlet.matrix.refresh.input_changes import change_of
from viewlet.matrix.refresh.journal import Entry, replay
from viewlet.matrix.refresh.refresh import Prepared, Refresh, Step
from viewlet.matrix.refresh.saved import Saved
from viewlet.matrix.refresh.updates import Entries, Update, apply, frame_of

Put = dict[str, tuple[Indices, Array]]
"""New rows of matrices in blocks."""


@dataclass(frozen=True, slots=True)
class Record:
    """The effects of one update: the statements that it reached, and the changes of outputs."""

    steps: tuple[Step, ...]
    seconds: float
    changed: tuple[str, ...]
    """The outputs that changed."""
    changes: Mapping[str, Change]
    """The changes, in the common frame, of those outputs that were not re-evaluated."""
    frame: Frame
    """The sizes before and after."""
    entry: Entry
    """The journal entry that `restore` replays."""

    @property
    def reevaluated(self) -> tuple[Step, ...]:
        return tuple(s for s in self.steps if s.how == "evaluated")

    @property
    def outcomes(self) -> dict[str, str]:
        """How each statement was refreshed."""
        return {step.name: step.outcome for step in self.steps}

    def __str__(self) -> str:
        return "\n".join([f"refreshed in {self.seconds * 1e3:.2f} ms", *(f"  {step}" for step in self.steps)])


class MaintainedProgram:
    """The matrices of a program, updated with its inputs."""

    def __init__(
        self,
        source: Program,
        compiled: Compiled,
        values: Mapping[str, Array | Buffer | LargeBuffer],
        sizes: Mapping[str, int],
        health: Health,
        blocks: Blocks | None = None,
    ) -> None:
        self.source = source
        self.compiled = compiled
        self.sizes = dict(sizes)
        self.last: Record | None = None
        self.blocks = blocks
        self._health = health
        self._evaluate = evaluating(blocks)
        self._plans: dict[tuple[Any, ...], tuple[Costs, Plan]] = {}
        self._prepared = Prepared(compiled)
        self._shapes = self._prepared.shapes
        self._inputs = {i.name: i for i in source.inputs}
        self._outputs = dict(compiled.program.outputs)
        self._buffers = {n: buffer_of(v) for n, v in values.items() if not self._is_view(n)}
        self._dtype = self._buffers[source.inputs[0].name].array.dtype

    def __getitem__(self, name: str) -> Any:
        """The current value of an output or input: a copy of the array, or a number."""
        found = self._outputs.get(name, name)
        if name not in self._outputs and name not in {i.name for i in self.source.inputs}:
            raise UnknownName(f"the program has no output {name}", hint=f"its outputs are {', '.join(self._outputs)}")
        value = self._value(found)
        if is_large(value):
            return value.gathered()
        return np.array(value) if self._shapes[found] else float(value[0, 0])

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(self._outputs)

    @property
    def nbytes(self) -> int:
        """The memory of all matrices, including inputs, in bytes."""
        return sum(b.array.nbytes for b in self._buffers.values() if isinstance(b, Buffer))

    def update(self, **updates: Update) -> Record:
        """Update inputs and all results in one atomic step; if anything fails, nothing changes."""
        started = time.perf_counter()
        frame = frame_of(updates, self.source.inputs, self.sizes)
        self._can_be(frame)
        with np.errstate(all="ignore"), self._extended(frame):
            changes = {n: change_of(n, u, self._buffers[n].array, frame, self._inputs[n]) for n, u in updates.items()}
            costs, plan = self._planned(frame, changes)
            refresh = Refresh(
                self._prepared,
                self._buffers,
                frame,
                updates,
                changes,
                costs,
                plan,
                self._health,
                self._dtype,
                self._evaluate,
            )
            refresh.run()
        put = self._commit(refresh)
        self.last = self._record(refresh, put, time.perf_counter() - started)
        return self.last

    def _record(self, refresh: Refresh, put: Put, seconds: float) -> Record:
        changed = {output: name for output, name in self._outputs.items() if refresh.is_changed(name)}
        changes = {o: refresh.changes[n] for o, n in changed.items() if n in refresh.changes}
        kept = (n for n in self._buffers if n in self.compiled.statements and refresh.is_changed(n))
        fresh = {n: found for n, found in refresh.fresh.items() if n in self._buffers and not _is_recipe(found)}
        written = {n: found for n, found in fresh.items() if is_large(found)}
        derived = {n: self._in_factors(n, refresh.changes.get(n)) for n in kept if n not in written}
        entry = Entry(refresh.frame.resizes, derived, put, written)
        return Record(tuple(refresh.steps), seconds, tuple(changed), changes, refresh.frame, entry)

    def check(self) -> dict[str, float]:
        """Return the relative error of each output, compared with the program evaluated from scratch as written."""
        inputs = {i.name: self._buffers[i.name].array for i in self.source.inputs}
        scratch = evaluate_source(self.source, inputs, self.sizes, self._dtype, self.blocks)
        return {o: relative_error(self._value(self._outputs[o]), value) for o, value in scratch.items()}

    def rewrite(self) -> None:
        """Rewrite the blocks of all matrices in blocks, by tasks."""
        for name, buffer in self.large.items():
            assert self.blocks is not None
            buffer.replace(self.blocks.written(name, buffer.array.node))

    def is_in_blocks(self, name: str) -> bool:
        """Whether a matrix is in blocks, or a view of one that is."""
        return is_large(self._value(name))

    @property
    def large(self) -> dict[str, LargeBuffer]:
        """The matrices that are in blocks."""
        return {name: buffer for name, buffer in self._buffers.items() if isinstance(buffer, LargeBuffer)}

    def save(self) -> tuple[str, dict[str, Array]]:
        """Return the state as text and arrays, for `restore`; the arrays are copies."""
        return self.describe(), {name: buffer.array.copy() for name, buffer in self._buffers.items()}

    def statements(self) -> dict[str, Array]:
        """The statements in memory, without copying."""
        names = (name for name in self.compiled.statements if name in self._buffers)
        return {name: found for name in names if not is_large(found := self._buffers[name].array)}

    def describe(self) -> str:
        """The text of `save`: everything except the arrays."""
        kept, health = self.compiled, self._health
        saved = Saved(
            self.source,
            kept.program,
            kept.chosen,
            kept.alternatives,
            kept.machine,
            tuple(self.sizes.items()),
            health.tolerance,
            health.probes,
        )
        return dumps(saved)

    @staticmethod
    def restore(
        text: str, arrays: Mapping[str, Array], since: Iterable[Entry] = (), blocks: Blocks | None = None
    ) -> MaintainedProgram:
        """Restore a state from `save` and the updates since; inputs are those after all updates.

        Only statements that updates re-evaluated are computed.
        """
        saved = loads(text, Saved)
        compiled = saved.compiled
        _refuse_missing(compiled, arrays)
        inputs = {i.name: arrays[i.name] for i in saved.source.inputs}
        kept = {n: array for n, array in arrays.items() if n in compiled.statements or is_large(array)}
        within = None if blocks is None else blocks.over(shapes_in(compiled.program))
        buffers, sizes = replay(compiled, kept, dict(saved.sizes), since)
        values = {**inputs, **{name: buffer.array for name, buffer in buffers.items()}}
        values = _completed(compiled, values, sizes, evaluating(within))
        for name, shape in shapes_in(saved.program).items():
            if name in values and values[name].shape != measured(shape, sizes):
                raise ShapeError(f"{name} is {values[name].shape}, not {measured(shape, sizes)}")
        health = Health(saved.tolerance, saved.probes)
        return MaintainedProgram(saved.source, compiled, {**values, **buffers}, sizes, health, within)

    def explain(self) -> str:
        """Return the statements, how each was refreshed last, and the alternatives."""
        return explain(self.compiled, self.sizes, {} if self.last is None else self.last.outcomes)

    def _planned(self, frame: Frame, changes: Mapping[str, Change]) -> tuple[Costs, Plan]:
        """The plan of a refresh, cached by the orders of magnitude of changes and sizes."""
        kinds = {name: kind_of(change) for name, change in changes.items()}
        alike = (*((n, _magnitudes(k)) for n, k in kinds.items()), *(s.bit_length() for s in frame.common.values()))
        if alike not in self._plans:
            costs = Costs(extents_of(self.compiled.program, frame.common), self.compiled.machine, self._dtype.itemsize)
            chosen = self.compiled.chosen.strategy
            self._plans[alike] = costs, plan(self.compiled.statements, kinds, costs, chosen)
        return self._plans[alike]

    def _is_view(self, name: str) -> bool:
        op = self.compiled.statements.get(name)
        return op is not None and is_view(op)

    def _value(self, name: str) -> Array:
        if name in self._buffers:
            return self._buffers[name].array
        return self._evaluate(name, self.compiled.statements[name], self._value, self.sizes, self._dtype)

    def _can_be(self, frame: Frame) -> None:
        """Raise if a matrix of the program would have a negative size."""
        if not frame.resizes:
            return
        for name, shape in self._shapes.items():
            if frame.touches(shape) and min(measured(shape, frame.after)) < 0:
                raise RejectedEpoch(f"{name} would be {show_shape(shape)} with {frame.after}; nothing was changed")

    @contextmanager
    def _extended(self, frame: Frame) -> Iterator[None]:
        """Extend matrices for added rows and columns; undo this if anything fails."""
        if not frame.resizes:
            yield
            return
        grown = [n for n in self._buffers if frame.touches(self._shapes[n]) and not frame.is_reshaped(self._shapes[n])]
        before = {n: self._buffers[n].array.shape for n in grown}
        try:
            for name in grown:
                self._buffers[name].extend(measured(self._shapes[name], frame.common))
            yield
        except BaseException:
            for name, (rows, columns) in before.items():
                self._buffers[name].truncate((rows, columns))
            raise

    def _commit(self, refresh: Refresh) -> Put:
        """Apply a refresh; only lack of memory can make this fail. Return the rows put into matrices in blocks."""
        put: Put = {}
        for name, buffer in self._buffers.items():
            if name in refresh.fresh and not _is_recipe(refresh.fresh[name]):
                self._buffers[name] = _replaced(buffer, refresh.fresh[name])
                continue
            if (change := refresh.changes.get(name)) is not None:
                update = refresh.updates.get(name)
                apply(update, change, buffer)
                if isinstance(buffer, LargeBuffer) and isinstance(update, Entries):
                    put[name] = (at := np.unique(update.rows)), buffer.array[at]
            for axis, dim in enumerate(self._shapes[name] if refresh.frame.resizes else ()):
                if (resize := refresh.frame.resize(dim)) is not None and len(resize.gone):
                    buffer.contract(axis, resize)
        self.sizes = refresh.frame.after
        return put

    def _in_factors(self, name: str, change: Change | None) -> Factored | None:
        if isinstance(change, Dense) and isinstance(self._buffers[name], LargeBuffer):
            left, right = factors_of(change)
            return Factored(Factor(len(left), left), Factor(len(right), right))
        return change if isinstance(change, Factored) else None


def _is_recipe(fresh: Any) -> bool:
    """Whether a new matrix in blocks is only a recipe, not written, so that its change is applied instead."""
    return is_large(fresh) and not isinstance(fresh.node, Stored)


def _replaced(buffer: Buffer | LargeBuffer, fresh: Array) -> Buffer | LargeBuffer:
    """The buffer of a re-evaluated matrix, which may now be too large for memory, or fit again."""
    if isinstance(buffer, Buffer) and isinstance(fresh, np.ndarray):
        buffer.replace(fresh)
        return buffer
    return buffer_of(fresh)


def _refuse_missing(compiled: Compiled, arrays: Mapping[str, Array]) -> None:
    kept = [name for name, op in compiled.statements.items() if not is_view(op)]
    for name in (*(i.name for i in compiled.program.inputs), *kept):
        if name not in arrays:
            raise UnknownName(f"{name} is missing among the saved arrays")


def _completed(
    compiled: Compiled, values: dict[str, Array], sizes: Mapping[str, int], evaluate: Evaluate
) -> dict[str, Array]:
    """Evaluate the statements that are missing, except views."""
    dtype = values[compiled.program.inputs[0].name].dtype

    def value(name: str) -> Array:
        if name in values:
            return values[name]
        return evaluate(name, compiled.statements[name], value, sizes, dtype)

    for name, op in compiled.statements.items():
        if name not in values and not is_view(op):
            values[name] = value(name)
    return values


def _magnitudes(kind: Kind) -> tuple[int, ...]:
    match kind:
        case Spread(rank, rows, columns):
            return rank.bit_length(), rows.bit_length(), columns.bit_length()
        case _:
            return ()
