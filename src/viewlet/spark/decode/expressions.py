"""Decoding Spark's expressions into the algebra's.

Known functions become a `Call`; everything else stays `Opaque`, with Spark's own rendering, and is evaluated by Spark.
Only subqueries, which are not functions of the row, cannot be decoded at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from viewlet.plan.expr import Call, Column, Expr, Literal, Opaque, Order
from viewlet.plan.types import BOOLEAN, STRING
from viewlet.spark.decode import vocabulary
from viewlet.spark.decode.aggregate_functions import decode_reduce, decode_short_sum
from viewlet.spark.decode.constants import NoPythonValue, literal_value, python_value
from viewlet.spark.decode.interval_arithmetic import decode_time_plus
from viewlet.spark.decode.tree import Id, Tree, Undecodable, column_id, fingerprint, mode_of
from viewlet.spark.decode.window_expressions import decode_over
from viewlet.spark.session.jvm import items
from viewlet.spark.session.versions import change_of

_SUBQUERIES = (
    "ScalarSubquery",
    "Exists",
    "ListQuery",
    "InSubquery",
    "LateralSubquery",
    "OuterReference",
    "DynamicPruningSubquery",
)
_LAMBDAS = ("LambdaFunction", "NamedLambdaVariable")
USERS_FUNCTIONS = ("PythonUDF", "PythonUDAF", "ScalaUDF", "ScalaAggregator")


class Expressions:
    """Decodes the expressions of one operator, given the names of the columns it reads."""

    def __init__(
        self,
        names: Mapping[Id, Column],
        *,
        version: tuple[int, int],
        plain_strings: bool = True,
        sparks_own: frozenset[str] = frozenset(),
    ) -> None:
        self.names = names
        self.version = version
        self.plain_strings = plain_strings
        """False if collations other than bytewise may occur: expressions that involve them are left to Spark."""
        self.sparks_own = sparks_own
        """Expression classes that only Spark evaluates under the settings of the definition."""

    def decode(self, tree: Tree) -> Expr:
        """The algebra's expression for one of Spark's."""
        kind = tree.kind
        if kind == "AttributeReference":
            return self.column(tree)
        if kind == "Literal":
            return self.literal(tree)
        if kind in vocabulary.TRANSPARENT:
            return self.decode(tree.parts[0])
        if kind == "AggregateExpression":
            return decode_reduce(self, tree)
        if kind == "WindowExpression":
            return decode_over(self, tree)
        if kind == "MakeDecimal" and (total := decode_short_sum(self, tree)) is not None:
            return total
        if kind in _SUBQUERIES:
            raise Undecodable("a subquery that may give more than one row is evaluated by Spark alone")
        if kind in self.sparks_own:
            return self.opaque(tree)
        known = self.of_bytes if self.is_collated(tree) else self.known
        return known(tree) or self.opaque(tree)

    def is_collated(self, tree: Tree) -> bool:
        """Whether an expression has an argument or result with a non-bytewise collation."""
        return not self.plain_strings and any(t.type.holds("collated") for t in (tree, *tree.parts))

    def of_bytes(self, tree: Tree) -> Call | None:
        """A call that only depends on the bytes of strings, whatever their collation."""
        match tree.kind:
            case "IsNull" | "IsNotNull":
                return self.known(tree)
            case "CollationKey":
                return self.call(self.as_of_now("collation_key", tree), tree)
            case "Cast" | "Collate" if all(
                kind.name in ("string", "collated") for kind in (tree.type, tree.parts[0].type)
            ):
                return Call("collate", (self.decode(tree.parts[0]),), tree.type)
        return None

    def decode_all(self, trees: list[Tree]) -> tuple[Expr, ...]:
        return tuple(self.decode(tree) for tree in trees)

    def order(self, tree: Tree) -> Order:
        """One term of an ORDER BY."""
        descending = tree.data["direction"]["object"].endswith(".Descending$")
        return Order(
            self.decode(tree.parts[0]), descending, tree.data["nullOrdering"]["object"].endswith(".NullsFirst$")
        )

    def column(self, tree: Tree) -> Column:
        found = self.names.get(column_id(tree.data))
        if found is None:
            raise Undecodable(f"the column {tree.data['name']} comes from outside the operator")
        return found

    def literal(self, tree: Tree) -> Expr:
        try:
            return Literal(literal_value(tree.data, tree.type, lambda: tree.jvm), tree.type)
        except NoPythonValue:
            return self.constant_array(tree) or Opaque(str(tree.jvm.sql()), (), tree.type)

    def constant_array(self, tree: Tree) -> Call | None:
        """A constant array as a call with its elements, if Python's types can hold them."""
        if tree.type.name != "array":
            return None
        kind = tree.type.args[0]
        try:
            values = [python_value(v, kind) for v in items(tree.jvm.value().toSeq(tree.jvm.dataType().elementType()))]
        except NoPythonValue:
            return None
        return Call("array", tuple(Literal(v, kind) for v in values), tree.type) if values else None

    def known(self, tree: Tree) -> Call | None:
        """A call of a function that the algebra knows, or None."""
        kind = tree.kind
        if name := vocabulary.PREDICATES.get(kind):
            return Call(name, self.decode_all(tree.parts), BOOLEAN)
        if name := vocabulary.PLAIN.get(kind):
            return self.call(self.as_of_now(name, tree), tree)
        if name := vocabulary.MODAL.get(kind):
            return self.call(vocabulary.in_mode(name, mode_of(tree)), tree)
        if (name := vocabulary.ONE_ARGUMENT.get(kind)) and len(tree.parts) == 1:
            return self.call(name, tree)
        if (name := vocabulary.ZONED.get(kind)) and tree.data.get("timeZoneId") in vocabulary.UTC:
            return self.call(name, tree)
        match kind:
            case "Cast" if tree.data.get("timeZoneId") in vocabulary.UTC or not tree.jvm.needsTimeZone():
                return self.call(vocabulary.in_mode("cast", mode_of(tree)), tree)
            case "TimestampAddInterval" if tree.data.get("timeZoneId") in vocabulary.UTC:
                return decode_time_plus(self, tree)
            case "Like" if tree.parts[1].kind == "Literal" and str(tree.jvm.escapeChar()) == "\\":
                return self.call("like", tree)
            case "Size" if not tree.data["legacySizeOfNull"]:
                return self.call("size", tree)
            case "GetStructField":
                return self.field(tree)
            case "GetArrayStructFields":
                return Call(
                    "get_list_field",
                    (self.decode(tree.parts[0]), Literal(tree.data["field"]["name"], STRING)),
                    tree.type,
                )
            case "XxHash64" if tree.data["seed"] == 42:
                return self.call("xxhash64", tree)
            case "RaiseError" if tree.parts[0].kind == "Literal":
                return Call("raise_error", (self.decode(tree.parts[0]),), tree.type)
            case "InSet":
                return self.in_set(tree)
        return None

    def as_of_now(self, name: str, tree: Tree) -> str:
        """A function's name with the Spark version that defined its meaning; without ANSI, ceil never fails."""
        change = None if tree.data.get("failOnError") is False else change_of(tree.kind, self.version)
        return f"{name}[{change}]" if change else name

    def call(self, name: str, tree: Tree) -> Call:
        return Call(name, self.decode_all(tree.parts), tree.type)

    def field(self, tree: Tree) -> Call:
        """A field of a struct, by name."""
        struct = self.decode(tree.parts[0])
        name = tree.parts[0].type.args[tree.data["ordinal"]][0]
        return Call("get_field", (struct, Literal(name, STRING)), tree.type)

    def in_set(self, tree: Tree) -> Call | None:
        """IN with a long list of constants, which Spark keeps as a set."""
        kind = tree.parts[0].type
        try:
            values = [python_value(v, kind) for v in items(tree.jvm.hset().toSeq())]
        except NoPythonValue:
            return None
        constants = (Literal(v, kind) for v in sorted(values, key=lambda v: (v is not None, v)))
        return Call("in", (self.decode(tree.parts[0]), *constants), BOOLEAN)

    def opaque(self, tree: Tree) -> Opaque:
        """An expression that only Spark knows, over its arguments or, with lambdas, the columns it reads."""
        if any(part.kind in _LAMBDAS for part in tree.walk()):
            columns = [self.column(t) for t in tree.walk() if t.kind == "AttributeReference"]
            args: tuple[Expr, ...] = tuple(dict.fromkeys(columns))
        else:
            args = self.decode_all(tree.parts)
        return Opaque(self.text(tree), args, tree.type)

    def text(self, tree: Tree) -> str:
        """Spark's rendering of an expression, with fingerprints of users' functions."""
        return rendered(str(tree.jvm), self.names) + "".join(
            f" [{fingerprint(t)}]" for t in tree.walk() if t.kind in USERS_FUNCTIONS
        )


def rendered(text: str, names: Mapping[Id, Column]) -> str:
    """Spark's text with the plan's names for columns, and without numbers that vary from run to run."""
    by_number = {str(number): column.name for (number, _), column in names.items()}
    text = re.sub(r"lambda (\w+)#\d+L?", r"\1", text)
    text = re.sub(r"([^\s(),\[\]#]+)#(\d+)L?", lambda m: by_number.get(m[2], m[1]), text)
    return re.sub(r"\)#\d+L?", ")", text)
