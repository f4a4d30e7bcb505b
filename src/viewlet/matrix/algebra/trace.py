"""Tracing: a Python function over matrices runs once, on matrices that record operations.

It uses NumPy's protocols: operators and ufuncs arrive in `__array_ufunc__`, other functions in `__array_function__`
(`numpy_functions.py`). So programs are written as NumPy code, which also runs on plain arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np

from viewlet.matrix.algebra.builder import Builder
from viewlet.matrix.algebra.ops import (
    Add,
    Broadcast,
    Constant,
    Declared,
    Elementwise,
    Full,
    Identity,
    Iterate,
    Product,
    Program,
    Scale,
    SizeOf,
    Slice,
    Source,
    Span,
    Subtract,
    Transpose,
)
from viewlet.matrix.algebra.sizes import Dim, Shape, Size, dim_of, show_shape
from viewlet.matrix.errors import ShapeError, UntraceableError

UNARY = {"sqrt", "exp", "log", "log1p", "expm1", "absolute", "square", "reciprocal", "sign", "sin", "cos", "tanh"}
BINARY = {"power", "maximum", "minimum"}
"""The entrywise functions of one and of two arguments, by NumPy's names."""
NUMBER = int | float | np.number


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """A matrix or number whose shape is known, but not its entries."""

    def __init__(self, builder: Builder, name: str) -> None:
        self._builder = builder
        self._name = name

    @property
    def shape(self) -> Shape:
        return self._builder.shapes[self._name]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def T(self) -> Traced:
        return self if self.ndim == 0 else self._emit(Transpose(self._name))

    def transpose(self) -> Traced:
        return self.T

    def sum(self, axis: int | None = None, *, keepdims: bool = False) -> Any:
        return np.sum(self, axis=axis, keepdims=keepdims)

    def mean(self, axis: int | None = None, *, keepdims: bool = False) -> Any:
        return np.mean(self, axis=axis, keepdims=keepdims)

    def trace(self) -> Any:
        return np.trace(self)

    def dot(self, other: Any) -> Any:
        return self @ other

    def __getitem__(self, key: Any) -> Traced:
        rows, columns = key if isinstance(key, tuple) and len(key) == 2 else (key, slice(None))
        return self._emit(Slice(self._name, self._span(rows), self._span(columns)))

    def _span(self, index: Any) -> Span:
        if isinstance(index, slice) and index.step in (None, 1):
            return _whole(index.start), _whole(index.stop)
        raise UntraceableError(
            f"{self._name}[{index!r}]: only slices without a step can be traced",
            hint="X[:, 2:3] is the third column, as a matrix",
        )

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            self._refuse(f"np.{ufunc.__name__}" + (f".{method}" if method != "__call__" else " with options"))
        return Tracer(self._builder).ufunc(ufunc.__name__, *inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from viewlet.matrix.algebra.numpy_functions import FUNCTIONS

        if function not in FUNCTIONS:
            self._refuse(f"np.{function.__name__}")
        return FUNCTIONS[function](Tracer(self._builder), *args, **kwargs)

    def _emit(self, op: Source) -> Traced:
        return Traced(self._builder, self._builder.emit(op))

    def _refuse(self, what: str) -> NoReturn:
        raise UntraceableError(f"{what} of {self._name} cannot be traced", hint="docs/matrix.md lists what can")

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        self._refuse("the entries")

    def __bool__(self) -> NoReturn:
        raise UntraceableError(
            f"whether {self._name} is true is not known while a program is traced",
            hint="a program cannot branch on entries or compare them",
        )

    def __iter__(self) -> NoReturn:
        self._refuse("iterating over the rows")

    def __len__(self) -> NoReturn:
        self._refuse("len()")

    def __float__(self) -> NoReturn:
        self._refuse("the value")

    def __repr__(self) -> str:
        return f"<{self._name}: {show_shape(self.shape)}>"


class Tracer:
    """Emits statements for operations on traced matrices, arrays and numbers."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder

    def emit(self, op: Source) -> Traced:
        return Traced(self.builder, self.builder.emit(op))

    def name(self, value: Any) -> str:
        """The name of a matrix; arrays and numbers become constants of the program."""
        match value:
            case Traced() if value._builder is self.builder:
                return value._name
            case Traced():
                raise UntraceableError(f"{value!r} belongs to another program")
            case Size():
                return self.builder.emit(SizeOf(value))
            case int() | float() | np.number():
                return self.builder.emit(Full((), float(value)))
            case _:
                return self.builder.emit(_constant(np.asarray(value, dtype=np.float64)))

    def shape(self, name: str) -> Shape:
        return self.builder.shapes[name]

    def ufunc(self, function: str, *inputs: Any) -> Traced:
        """Emit the statement of a ufunc, and so of a Python operator."""
        match function, inputs:
            case "matmul", (a, b):
                return self.emit(Product(self.name(a), self.name(b)))
            case "add", (a, b):
                return self.emit(Add(*self.aligned(a, b)))
            case "subtract", (a, b):
                return self.emit(Subtract(*self.aligned(a, b)))
            case "negative", (a,):
                return self.emit(Scale(-1.0, self.name(a)))
            case "positive", (a,):
                return self.emit(Scale(1.0, self.name(a)))
            case "multiply", (a, b):
                return self.multiply(a, b)
            case "divide", (a, b):
                return self.divide(a, b)
            case name, parts if name in (UNARY if len(parts) == 1 else BINARY):
                return self.elementwise(name, *parts)
            case _:
                raise UntraceableError(
                    f"np.{function} cannot be traced",
                    hint=f"functions of entries: {', '.join(sorted(UNARY | BINARY))}; no comparisons",
                )

    def multiply(self, left: Any, right: Any) -> Traced:
        for number, matrix in ((left, right), (right, left)):
            if isinstance(number, NUMBER):
                return self.emit(Scale(float(number), self.name(matrix)))
        for number, matrix in ((left, right), (right, left)):
            if self.shape(self.name(number)) == ():
                return self.emit(Scale(self.name(number), self.name(matrix)))
        return self.elementwise("multiply", left, right)

    def divide(self, left: Any, right: Any) -> Traced:
        if isinstance(right, NUMBER):
            by_zero = right == 0  # left to the evaluation, which gives ∞ or NaN as NumPy does
            return self.elementwise("divide", left, right) if by_zero else self.multiply(1.0 / float(right), left)
        if not isinstance(left, NUMBER) and self.shape(self.name(right)) == ():
            return self.multiply(self.elementwise("divide", 1.0, right), left)
        return self.elementwise("divide", left, right)

    def elementwise(self, function: str, *inputs: Any) -> Traced:
        numbers = [isinstance(i, NUMBER) for i in inputs]
        names = iter(self.aligned(*(i for i, number in zip(inputs, numbers, strict=True) if not number)))
        parts = (float(i) if number else next(names) for i, number in zip(inputs, numbers, strict=True))
        return self.emit(Elementwise(function, tuple(parts)))

    def aligned(self, *values: Any) -> list[str]:
        """The operands broadcast to one shape, as in NumPy."""
        names = [self.name(v) for v in values]
        shape = self.shape(names[0])
        for name in names[1:]:
            shape = self._common(shape, self.shape(name), names)
        return [self.builder.emit(Broadcast(name, shape)) for name in names]

    def _common(self, left: Shape, right: Shape, names: list[str]) -> Shape:
        if left == () or right == ():
            return left or right
        pairs = list(zip(left, right, strict=True))
        if any(a != b and 1 not in (a, b) for a, b in pairs):
            shapes = " and ".join(f"{n} ({show_shape(self.shape(n))})" for n in names)
            raise ShapeError(f"operands could not be broadcast together with shapes {shapes}")
        return tuple(b if a == 1 else a for a, b in pairs)


def _whole(index: Any) -> int | None:
    if index is None or isinstance(index, int | np.integer):
        return None if index is None else int(index)
    raise UntraceableError(
        f"a slice at {index} cannot be traced", hint="slice with whole numbers; -1 counts from the end"
    )


def _constant(array: np.ndarray[Any, Any]) -> Source:
    """An array as a constant of the program."""
    if array.ndim == 0:
        return Full((), float(array))
    if array.ndim != 2:
        raise ShapeError(
            f"an array of {array.ndim} dimensions is not a matrix", hint="v[:, None] makes a vector a column"
        )
    rows, columns = array.shape
    if rows == columns and np.array_equal(array, np.eye(rows)):
        return Identity(rows)
    if array.size and (array == array[0, 0]).all():
        return Full((rows, columns), float(array[0, 0]))
    return Constant(tuple(tuple(row) for row in array.tolist()))


def iterate(times: int, step: Callable[[Any], Any], start: Any) -> Any:
    """T ← step(T), `times` times from `start`: a plain loop on arrays, a maintained one in programs."""
    if times < 0 or times != int(times):
        raise ShapeError(f"iterate: {times} is not a number of steps")
    if not isinstance(start, Traced):
        trial = step(start)
        if not isinstance(trial, Traced):
            return _run(times, step, start, trial)
        start = Traced(trial._builder, Tracer(trial._builder).name(start))
    return _trace_loop(int(times), step, start)


def _run(times: int, step: Callable[[Any], Any], start: Any, first: Any) -> Any:
    current = start if times == 0 else first
    for _ in range(times - 1):
        current = step(current)
    return current


def _trace_loop(times: int, step: Callable[[Any], Any], start: Traced) -> Traced:
    builder = start._builder
    parameter, since = builder.fresh("T", start.shape), len(builder.statements)
    result = Tracer(builder).name(step(Traced(builder, parameter)))
    if builder.shapes[result] != start.shape:
        raise ShapeError(
            f"iterate: a step makes {show_shape(start.shape)} into {show_shape(builder.shapes[result])}",
            hint="every step must keep the shape of what it starts from",
        )
    body = builder.loop_body(parameter, since)
    if times == 0 or result == parameter:
        return start
    return Traced(builder, builder.emit(Iterate(start._name, times, parameter, body, result)))


def trace(function: Callable[..., Any], shapes: Mapping[str, tuple[int | str | Size, ...]]) -> Program:
    """Trace a function of named matrices into a program."""
    builder = Builder(Declared(name, _declared(name, shape)) for name, shape in shapes.items())
    result = function(**{name: Traced(builder, name) for name in shapes})
    named = result if isinstance(result, Mapping) else {_called(function): result}
    if not named or not all(isinstance(n, str) for n in named):
        raise UntraceableError("a program returns a matrix, or a dictionary of matrices by name")
    return builder.program({name: Tracer(builder).name(value) for name, value in named.items()})


def _declared(name: str, shape: tuple[int | str | Size, ...]) -> tuple[Dim, Dim]:
    if not isinstance(shape, tuple) or len(shape) != 2:
        raise ShapeError(f"{name}: {shape!r} is not the shape of a matrix", hint="(rows, columns); a vector is (n, 1)")
    return dim_of(shape[0]), dim_of(shape[1])


def _called(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", "result")
    return name if name.isidentifier() else "result"
