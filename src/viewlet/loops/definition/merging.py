"""How the rows of a round are merged with earlier ones, as plans from all derived rows to a state's history.

    UNION ALL    every row                  UNION    each row in its first round
    USING KEY    for each key, the rows better than all before, in the order of rounds; or the sum of all
    REPEAT       every row; the last round is the result

For min(cost) a row with a lower cost is better, for max one with a higher cost. Without min or max, the newest row
replaces the one before, if it differs. Among equally good rows of a round, min takes the least and max the greatest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from viewlet.compile.build import comparable
from viewlet.errors import UnsupportedQuery
from viewlet.plan.expr import Call, Column, Expr, Frame, Literal, Named, Order, Over, Reduce, conjunction, substitute
from viewlet.plan.nodes import Aggregate, Filter, Plan, Project, Window, column
from viewlet.plan.types import BIGINT, BOOLEAN, INT, Field

Fields = tuple[Field, ...]
_NUMBER, _COUNT = Field("_number", INT, False), Field("_before", BIGINT, False)
_SO_FAR = Frame("rows", None, Literal(0, INT))
_BEFORE = Frame("rows", None, Literal(-1, INT))
_JUST_BEFORE = Frame("rows", Literal(-1, INT), Literal(-1, INT))


@dataclass(frozen=True, slots=True)
class Choice:
    """How the rows of a key become one: by the least or greatest value of a column, or by summing all columns."""

    column: str
    is_greatest: bool = False
    is_sum: bool = False

    @property
    def function(self) -> str:
        return "max" if self.is_greatest else "min"


# ——— recognizing the choice


def choice_of(view: str, step: Plan, names: Sequence[str], key: Sequence[str]) -> tuple[Plan, Choice | None]:
    """The input rows of the min or max at the top of a step, and the choice; without one, the step itself.

    Columns that min_by or max_by of the same column carries along stay with their row. If all columns except the key
    are sums, the rows of a round are added to the earlier ones.
    """
    aggregate, results = _at_top(step)
    others = {name: expr for name, expr in zip(names, results, strict=False) if name not in key}
    if others and all(map(_is_sum, others.values())):
        return step, Choice(next(iter(others)), is_sum=True)
    extremes = [_extreme(expr) for expr in results]
    deciding = [(name, e) for name, e in zip(names, extremes, strict=False) if e and not e.is_carried]
    if aggregate is None or not deciding:
        return step, None
    (name, by), *further = deciding
    if further or not all(e.by == by.by and e.is_greatest == by.is_greatest for e in extremes if e):
        raise UnsupportedQuery(
            f"view {view}: several columns decide which row of a key is kept",
            hint="take the min or max of one column, and carry others along with min_by or max_by of it",
        )
    values = [expr if extreme is None else extreme.value for expr, extreme in zip(results, extremes, strict=True)]
    made = tuple(Named(f.name, value) for f, value in zip(step.columns, values, strict=True))
    return Project(aggregate.rows, made, step.columns), Choice(name, by.is_greatest)


@dataclass(frozen=True, slots=True)
class Extreme:
    """A result column that is a min or max, or is carried along with one."""

    by: Expr
    """The expression that is minimized or maximized."""
    value: Expr
    """The column's value for each row of the group."""
    is_greatest: bool
    is_carried: bool = False


def _at_top(step: Plan) -> tuple[Aggregate | None, tuple[Expr, ...]]:
    """The aggregate at the top of a step, if any, and the step's columns as expressions over its groups."""
    match step:
        case Aggregate(results=results):
            return step, tuple(r.expr for r in results)
        case Project(rows=rows, results=results):
            aggregate, below = _at_top(rows)
            known = {f.name: e for f, e in zip(rows.columns, below, strict=False)}
            return aggregate, tuple(substitute(r.expr, known) for r in results)
        case _:
            return None, ()


def _extreme(expr: Expr) -> Extreme | None:
    """A column as a min or max. Decoded min_by(x, y) is a field of the least struct of y and x."""
    match expr:
        case Call("cast", (Reduce() as call,), kind) if kind.is_numeric and call.type.is_numeric:
            found = _extreme(call)
            return found and replace(found, value=Call("cast", (found.value,), kind))
        case Reduce("min" | "max" as function, (value,), distinct=False, where=None):
            return Extreme(value, value, function == "max")
        case Call("get_field", (Reduce("min" | "max" as function, (row,), where=None), Literal(str(field)))):
            fields = _struct_fields(row)
            return Extreme(fields["c0"], fields[field], function == "max", is_carried=True) if fields else None
        case _:
            return None


def _is_sum(expr: Expr) -> bool:
    match expr:
        case Call("cast", (Reduce() as call,), kind) if kind.is_numeric:
            return _is_sum(call)
        case Reduce("sum" | "count", _, distinct=False):
            return True
        case _:
            return False


def _struct_fields(row: Expr) -> dict[str, Expr]:
    """The fields of a struct expression, possibly guarded by a check that its first field is not NULL."""
    match row:
        case Call("if", (_, Call("named_struct", args), Literal(None))) | Call("named_struct", args):
            names = [a.value for a in args[::2] if isinstance(a, Literal)]
            return dict(zip(names, args[1::2], strict=True))
        case _:
            return {}


# ——— histories


def first_rounds(rows: Plan) -> Plan:
    """Each row in its first round."""
    *others, at = rows.columns
    keys = tuple(comparable(column(f)) for f in others)
    first = Reduce("min", (column(at),), at.type)
    results = (*(Named(f.name, k) for f, k in zip(others, keys, strict=True)), Named(at.name, first))
    return Aggregate(rows, keys, results, rows.columns)


def best_by_key(rows: Plan, key: Sequence[str], choice: Choice | None) -> Plan:
    """By key, the rows that are better than all earlier ones."""
    *others, at = rows.columns
    keys = tuple(comparable(column(f)) for f in others if f.name in key)
    order = _from_best_to_worst([f for f in others if f.name not in key], choice)
    if choice is not None:
        return _only(_improvements(rows, keys, order, choice), rows.columns)
    newest = _first_rows(rows, (*keys, column(at)), order)
    return _only(_replacements(newest, keys, key), rows.columns)


def current_by_key(rows: Plan, key: Sequence[str]) -> Plan:
    """By key, the row of the latest round."""
    keys = tuple(comparable(column(f)) for f in rows.columns if f.name in key)
    return _first_rows(rows, keys, (Order(column(rows.columns[-1]), descending=True),))


def sums_by_key(rows: Plan, key: Sequence[str]) -> Plan:
    """By key, the sums of all other columns over all rounds."""
    *others, at = rows.columns
    keys = {f.name: comparable(column(f)) for f in others if f.name in key}
    sums = {f.name: Reduce("sum", (column(f),), f.type) for f in others if f.name not in key}
    results = (
        *(Named(f.name, keys.get(f.name) or sums[f.name]) for f in others),
        Named(at.name, Reduce("max", (column(at),), at.type)),
    )
    return Aggregate(rows, tuple(keys.values()), results, rows.columns)


def of_round(rows: Plan, number: int) -> Plan:
    """The rows of one round."""
    return Filter(rows, Call("eq", (column(rows.columns[-1]), Literal(number, BIGINT)), BOOLEAN))


def _from_best_to_worst(values: Sequence[Field], choice: Choice | None) -> tuple[Order, ...]:
    """A total order with the best row first."""
    deciding = [f for f in values if choice and f.name == choice.column]
    others = [f for f in values if f not in deciding]
    descending = choice is not None and choice.is_greatest
    return tuple(Order(column(f), descending, nulls_first=False) for f in (*deciding, *others))


def _first_rows(rows: Plan, partition: tuple[Expr, ...], order: tuple[Order, ...]) -> Plan:
    """The first row of each partition."""
    number = Named(_NUMBER.name, Over("row_number", (), INT, _SO_FAR))
    order = order or (Order(partition[-1]),)
    numbered = Window(rows, partition, order, (number,), (*rows.columns, _NUMBER))
    first = Filter(numbered, Call("eq", (column(_NUMBER), Literal(1, INT)), BOOLEAN))
    return _only(first, rows.columns)


def _improvements(rows: Plan, keys: tuple[Expr, ...], order: tuple[Order, ...], choice: Choice) -> Plan:
    """The rows with a lower, or higher, value than all before them, including those of their round; NULL is worst."""
    value = next(f for f in rows.columns if f.name == choice.column)
    best = Field("_best", value.type)
    seen = Over(choice.function, (column(value),), value.type, _BEFORE)
    better = Call("gt" if choice.is_greatest else "lt", (column(value), column(best)), BOOLEAN)
    is_first = Call("and", (_is("is_not_null", value), _is("is_null", best)), BOOLEAN)
    is_better = Call("or", (better, is_first), BOOLEAN)
    return _kept(rows, keys, order, {best: seen}, _BEFORE, is_better)


def _replacements(rows: Plan, keys: tuple[Expr, ...], key: Sequence[str]) -> Plan:
    """The rows that differ from the ones before them."""
    values = [f for f in rows.columns[:-1] if f.name not in key]
    before = [Field(f"_last{i}", f.type) for i, f in enumerate(values)]
    last = {b: Over("last", (column(f),), f.type, _JUST_BEFORE) for b, f in zip(before, values, strict=True)}
    same = conjunction(
        tuple(Call("eq_null_safe", (column(f), column(b)), BOOLEAN) for f, b in zip(values, before, strict=True))
    )
    differs = Literal(False, BOOLEAN) if same is None else Call("not", (same,), BOOLEAN)
    return _kept(rows, keys, (), last, _JUST_BEFORE, differs)


def _kept(
    rows: Plan,
    keys: tuple[Expr, ...],
    within: tuple[Order, ...],
    seen: dict[Field, Over],
    frame: Frame,
    condition: Expr,
) -> Plan:
    """The first row of each key, by round and `within` it, and rows that meet a condition over the earlier ones."""
    order = (Order(column(rows.columns[-1])), *within)
    results = {**seen, _COUNT: Over("count", (Literal(1, INT),), BIGINT, frame)}
    made = tuple(Named(f.name, over) for f, over in results.items())
    window = Window(rows, keys, order, made, (*rows.columns, *results))
    nothing = Call("eq", (column(_COUNT), Literal(0, BIGINT)), BOOLEAN)
    return Filter(window, Call("or", (nothing, condition), BOOLEAN))


def _is(function: str, field: Field) -> Expr:
    return Call(function, (column(field),), BOOLEAN)


def _only(rows: Plan, columns: Fields) -> Plan:
    return Project(rows, tuple(Named(f.name, Column(f.name, f.type)) for f in columns), columns)
