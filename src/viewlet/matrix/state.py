"""A program that is maintained: its matrices, kept equal to what the program gives for its inputs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from viewlet.matrix.buffers import Buffer
from viewlet.matrix.changes import Change
from viewlet.matrix.codec import dumps, loads
from viewlet.matrix.compiled import Compiled, extents_of, statements_of
from viewlet.matrix.cost import Costs, Kind, Spread, kind_of
from viewlet.matrix.errors import RejectedEpoch, ShapeError, UnknownName
from viewlet.matrix.evaluate import evaluate, is_view
from viewlet.matrix.explain import explain
from viewlet.matrix.factors import Array
from viewlet.matrix.frames import Frame
from viewlet.matrix.health import Health
from viewlet.matrix.lower import Form, lower
from viewlet.matrix.ops import Declared, Op, Program, shapes_in
from viewlet.matrix.refresh import Refresh, Step
from viewlet.matrix.saved import Saved
from viewlet.matrix.sizes import Shape, measured, show_shape, symbol_of
from viewlet.matrix.strategy import Plan, plan
from viewlet.matrix.updates import Update, change_of, checked, frame_of, settle

TOLERANCE = {np.dtype(np.float64): 1e-8, np.dtype(np.float32): 1e-4}
"""The residual beyond which a statement is evaluated anew, unless said otherwise."""


@dataclass(frozen=True, slots=True)
class Record:
    """What one update did: every statement that it reached, and how outputs changed."""

    steps: tuple[Step, ...]
    seconds: float
    changed: tuple[str, ...]
    """The outputs that are not as they were."""
    changes: Mapping[str, Change]
    """Of those that were not evaluated anew: by what, in rows and columns that count what came and what went."""

    @property
    def reevaluated(self) -> tuple[Step, ...]:
        return tuple(s for s in self.steps if s.how == "evaluated")

    def __str__(self) -> str:
        return "\n".join([f"refreshed in {self.seconds * 1e3:.2f} ms", *(f"  {step}" for step in self.steps)])


class Maintained:
    """The matrices of a program, and how they follow its inputs."""

    def __init__(
        self, source: Program, compiled: Compiled, values: Mapping[str, Array], sizes: Mapping[str, int], health: Health
    ) -> None:
        self.source = source
        self.compiled = compiled
        self.sizes = dict(sizes)
        self.last: Record | None = None
        self._health = health
        self._plans: dict[tuple[Any, ...], tuple[Costs, Plan]] = {}
        self._dtype = values[source.inputs[0].name].dtype
        self._shapes = shapes_in(compiled.program)
        self._outputs = dict(compiled.program.outputs)
        self._buffers = {n: Buffer(v) for n, v in values.items() if not self._is_view(n)}

    def __getitem__(self, name: str) -> Any:
        """An output, or an input, as it is now: an array of your own, or a number."""
        found = self._outputs.get(name, name)
        if name not in self._outputs and name not in {i.name for i in self.source.inputs}:
            raise UnknownName(f"the program has no output {name}", hint=f"its outputs are {', '.join(self._outputs)}")
        value = self._value(found)
        return np.array(value) if self._shapes[found] else float(value[0, 0])

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(self._outputs)

    @property
    def nbytes(self) -> int:
        """What the matrices take in memory, inputs included."""
        return sum(b.array.nbytes for b in self._buffers.values())

    def update(self, **updates: Update) -> Record:
        """Changes inputs, all in one step, and everything that follows from them; or nothing, if any of it fails."""
        started = time.perf_counter()
        inputs = {i.name: i for i in self.source.inputs}
        frame = frame_of(updates, self.source.inputs, self.sizes)
        self._can_be(frame)
        with np.errstate(all="ignore"), self._extended(frame):
            changes = {n: change_of(n, u, self._buffers[n].array, frame, inputs[n]) for n, u in updates.items()}
            costs, plan = self._planned(frame, changes)
            refresh = Refresh(
                self.compiled, self._buffers, frame, updates, changes, costs, plan, self._health, self._dtype
            )
            refresh.run()
        self._commit(refresh)
        self.last = self._record(refresh, time.perf_counter() - started)
        return self.last

    def _record(self, refresh: Refresh, seconds: float) -> Record:
        changed = {output: name for output, name in self._outputs.items() if refresh.is_changed(name)}
        changes = {o: refresh.changes[n] for o, n in changed.items() if n in refresh.changes}
        return Record(tuple(refresh.steps), seconds, tuple(changed), changes)

    def check(self) -> dict[str, float]:
        """The relative error of each output beside the program evaluated from scratch, as it is written."""
        program = lower(self.source, Form(skip=1, inverses=False))
        inputs = {i.name: self._buffers[i.name].array for i in program.inputs}
        scratch = evaluate_all(statements_of(program), inputs, self.sizes, shapes_in(program), self._dtype)
        return {o: relative_error(self._value(self._outputs[o]), scratch[n]) for o, n in program.outputs}

    def save(self) -> tuple[str, dict[str, Array]]:
        """The state as text and arrays, for `restore`; the arrays are copies."""
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
        return dumps(saved), {name: buffer.array.copy() for name, buffer in self._buffers.items()}

    @staticmethod
    def restore(text: str, arrays: Mapping[str, Array]) -> Maintained:
        """The state that `save` gave; nothing is computed."""
        saved = loads(text, Saved)
        statements = statements_of(saved.program)
        compiled = Compiled(saved.program, statements, saved.chosen, saved.alternatives, saved.machine)
        sizes, health = dict(saved.sizes), Health(saved.tolerance, saved.probes)
        for name, shape in shapes_in(saved.program).items():
            if name in arrays and arrays[name].shape != measured(shape, sizes):
                raise ShapeError(f"{name} is {arrays[name].shape}, not {measured(shape, sizes)}")
            if name not in arrays and not (name in statements and is_view(statements[name])):
                raise UnknownName(f"{name} is missing among the saved arrays")
        return Maintained(saved.source, compiled, arrays, sizes, health)

    def explain(self) -> str:
        """The statements, how each was refreshed last, and what was weighed."""
        steps = {} if self.last is None else {s.name: s for s in self.last.steps}
        return explain(self.compiled, self.sizes, steps)

    def _planned(self, frame: Frame, changes: Mapping[str, Change]) -> tuple[Costs, Plan]:
        """The plan of a refresh; those for changes and sizes of one order of magnitude are alike, and kept."""
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
        return evaluate(name, self.compiled.statements[name], self._value, self.sizes, self._dtype)

    def _can_be(self, frame: Frame) -> None:
        """Every matrix of the program must still have a size that is not negative."""
        for name, shape in self._shapes.items():
            if frame.touches(shape) and min(measured(shape, frame.after)) < 0:
                raise RejectedEpoch(f"{name} would be {show_shape(shape)} with {frame.after}; nothing was changed")

    @contextmanager
    def _extended(self, frame: Frame) -> Iterator[None]:
        """Makes room for what comes; if anything fails, it is as it was."""
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

    def _commit(self, refresh: Refresh) -> None:
        """Applies what was worked out; nothing here can fail but for want of memory."""
        for name, buffer in self._buffers.items():
            if name in refresh.fresh:
                buffer.replace(refresh.fresh[name])
                continue
            if (change := refresh.changes.get(name)) is not None:
                buffer.add(change)
                settle(refresh.updates.get(name), buffer.array)
            for axis, dim in enumerate(self._shapes[name]):
                if (resize := refresh.frame.resize(dim)) is not None and len(resize.gone):
                    buffer.delete(axis, resize.gone)
        self.sizes = refresh.frame.after


def _magnitudes(kind: Kind) -> tuple[int, ...]:
    match kind:
        case Spread(rank, rows, columns):
            return rank.bit_length(), rows.bit_length(), columns.bit_length()
        case _:
            return ()


def evaluate_all(
    statements: Mapping[str, Op],
    inputs: Mapping[str, Array],
    sizes: Mapping[str, int],
    shapes: Mapping[str, Shape],
    dtype: Any,
) -> dict[str, Array]:
    """Every matrix of a program, from its inputs."""
    values = dict(inputs)
    for name, op in statements.items():
        values[name] = evaluate(name, op, values.__getitem__, sizes, dtype)
        due = measured(shapes[name], sizes)
        if values[name].shape != due:
            raise ShapeError(f"{name} is {values[name].shape}, not {due}: a slice reaches beyond its matrix")
    return values


def relative_error(found: Array, wanted: Array) -> float:
    """‖found − wanted‖ / ‖wanted‖."""
    size = float(np.linalg.norm(wanted))
    error = float(np.linalg.norm(found - wanted))
    return error / size if size else error


def intake(
    inputs: tuple[Declared, ...], given: Mapping[str, ArrayLike], dtype: Any
) -> tuple[dict[str, Array], dict[str, int]]:
    """The matrices to start from, checked, and the sizes that their symbols stand for."""
    missing = [i.name for i in inputs if i.name not in given]
    unknown = sorted(given.keys() - {i.name for i in inputs})
    if missing or unknown:
        raise UnknownName(f"inputs missing: {missing}, not known: {unknown}", hint="one matrix for each input")
    sizes: dict[str, int] = {}
    arrays = {i.name: _bound(i, given[i.name], sizes) for i in inputs}
    kind = np.dtype(dtype or np.result_type(*arrays.values(), np.float32))
    if kind not in TOLERANCE:
        raise ShapeError(f"matrices of {kind} are not maintained", hint="float64 or float32")
    return {i.name: checked(i.name, arrays[i.name], measured(i.shape, sizes), kind) for i in inputs}, sizes


def _bound(declared: Declared, value: ArrayLike, sizes: dict[str, int]) -> Array:
    """An input; its symbols take their sizes from the first matrix that has them."""
    array = np.asarray(value)
    if array.ndim == 1:
        array = array[:, None] if declared.shape[1] == 1 else array[None, :]
    if array.ndim != 2:
        raise ShapeError(f"{declared.name}: an array of {array.ndim} dimensions is no matrix")
    for dim, size in zip(declared.shape, array.shape, strict=True):
        if (symbol := symbol_of(dim)) is not None and sizes.setdefault(symbol, size) != size:
            raise ShapeError(f"{declared.name}: {symbol} is {sizes[symbol]} by another matrix and {size} here")
    return array
