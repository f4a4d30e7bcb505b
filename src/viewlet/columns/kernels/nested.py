"""Structs and arrays: constructors, and access to fields and elements."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from viewlet.columns.arrays import Positions, offsets_of, valid_mask
from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.kernels.kernel import Argument, Kernel, Rule
from viewlet.columns.kernels.vectors import Evaluate, Vector, read_arrow, reader, writer
from viewlet.columns.order import ascending, sort, why_not_order
from viewlet.columns.rows import Rows
from viewlet.plan.expr import Call, Literal
from viewlet.plan.types import Type


def _get_field(call: Call) -> Kernel | None:
    struct, name = call.args[0].type, call.args[1]
    if struct.name != "struct" or not isinstance(name, Literal):
        return None
    places = [i for i, (field, kind) in enumerate(struct.args) if field == name.value and kind == call.type]
    return Kernel(lambda parts: _field(parts[0].run, places[0], reader(call.type))) if len(places) == 1 else None


def _field(struct: Evaluate, place: int, read: Callable[[pa.Array], Vector]) -> Evaluate:
    """A field of each struct; NULL where the struct is NULL."""
    options, extract = pc.StructFieldOptions([place]), pc.get_function("struct_field").call
    return lambda rows: read(extract([struct(rows)[0]], options))


def _named_struct(call: Call) -> Kernel | None:
    names = tuple(arg.value if isinstance(arg, Literal) else None for arg in call.args[0::2])
    kinds = tuple(arg.type for arg in call.args[1::2])
    if call.type != Type("struct", tuple(zip(names, kinds, strict=True))):
        return None
    return Kernel(lambda parts: _struct(parts[1::2], call.type))


def _struct(parts: tuple[Argument, ...], kind: Type) -> Evaluate:
    fields = list(arrow_type(kind))
    columns = tuple((part.run, writer(part.type)) for part in parts)

    def evaluate(rows: Rows) -> Vector:
        length = len(rows)
        return pa.StructArray.from_arrays([write(run(rows), length) for run, write in columns], fields=fields), None

    return evaluate


def _array(call: Call) -> Kernel | None:
    if not call.args or any(Type("array", (arg.type,)) != call.type for arg in call.args):
        return None
    return Kernel(lambda parts: _list(parts, call.type))


def _list(parts: tuple[Argument, ...], kind: Type) -> Evaluate:
    """One array per row, of the values of all parts."""
    arrow, write, count = arrow_type(kind), writer(kind.args[0]), len(parts)

    def evaluate(rows: Rows) -> Vector:
        length = len(rows)
        together = pa.concat_arrays([write(part.run(rows), length) for part in parts])
        interleaved = np.arange(length * count).reshape(count, length).T.reshape(-1)
        offsets = pa.array(np.arange(length + 1, dtype=np.int32) * np.int32(count))
        values = together.take(pa.array(interleaved))
        return read_arrow(pa.ListArray.from_arrays(offsets, values, type=arrow))

    return evaluate


def _sort_array(call: Call) -> Kernel | None:
    """sort_array, except of doubles, where Spark orders zeros inconsistently."""
    kind, order = call.args[0].type, call.args[1]
    if kind != call.type or not isinstance(order, Literal) or kind.has_floats or why_not_order(kind) is not None:
        return None
    return Kernel(lambda parts: _sorted(parts[0].run, descending=not order.value))


def _sorted(lists: Evaluate, *, descending: bool) -> Evaluate:
    """Each list sorted; NULL is least."""

    def evaluate(rows: Rows) -> Vector:
        array = lists(rows)[0]
        values = array.flatten()
        keys = [~key if descending else key for key in ascending(values)]
        order = sort([np.repeat(np.arange(len(array)), _counts(array)), *keys], len(values))
        return _with_elements(array, values.take(pa.array(order)), array.type)

    return evaluate


def _counts(array: pa.Array) -> Positions:
    """How many elements each list contributes to `flatten`."""
    return np.where(valid_mask(array), np.diff(offsets_of(array)), 0)


def _with_elements(array: pa.Array, elements: pa.Array, kind: pa.DataType) -> Vector:
    """Lists with the lengths and NULLs of an array, but other elements."""
    offsets = np.concatenate([[0], np.cumsum(_counts(array))]).astype(np.int32)
    missing = pa.array(~valid_mask(array)) if array.null_count else None
    return read_arrow(pa.ListArray.from_arrays(pa.array(offsets), elements, type=kind, mask=missing))


def _get_list_field(call: Call) -> Kernel | None:
    lists, name = call.args[0].type, call.args[1]
    if lists.name != "array" or lists.args[0].name != "struct" or not isinstance(name, Literal):
        return None
    fields = lists.args[0].args
    places = [i for i, (field, kind) in enumerate(fields) if field == name.value and call.type.args == (kind,)]
    return (
        Kernel(lambda parts: _list_field(parts[0].run, places[0], arrow_type(call.type))) if len(places) == 1 else None
    )


def _list_field(lists: Evaluate, place: int, kind: pa.DataType) -> Evaluate:
    """A field of each struct in each list; NULL where the struct is NULL."""

    def evaluate(rows: Rows) -> Vector:
        array = lists(rows)[0]
        return _with_elements(array, pc.struct_field(array.flatten(), [place]), kind)

    return evaluate


def _size(call: Call) -> Kernel | None:
    return Kernel(lambda parts: _lengths(parts[0].run)) if call.args[0].type.name in ("array", "map") else None


def _lengths(nested: Evaluate) -> Evaluate:
    """The number of elements of each array or map; NULL for NULL."""

    def evaluate(rows: Rows) -> Vector:
        array = nested(rows)[0]
        return np.diff(offsets_of(array)).astype(np.int32), valid_mask(array) if array.null_count else None

    return evaluate


RULES: dict[str, Rule] = {
    "get_field": _get_field,
    "get_list_field": _get_list_field,
    "named_struct": _named_struct,
    "array": _array,
    "sort_array": _sort_array,
    "size": _size,
}
