"""Spark's JSON of plans and expressions as trees, in which each node can be resolved to its object in the JVM.

One call returns nearly everything as JSON. What the JSON omits (the overflow mode of an addition, the type of a
function's result) is read from the object itself, when needed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from viewlet.plan.types import Type, computed
from viewlet.spark.decode.data_types import decode_type
from viewlet.spark.session.jvm import Node

Id = tuple[int, str]
"""Spark's identifier of a column: a number, and the JVM that assigned it."""


class Undecodable(Exception):
    """The algebra cannot express an operator or expression; the message says why."""


def refuse_collated(kinds: Iterable[Type]) -> None:
    """Leaves values with a collation to Spark, together with the operator that compares them."""
    if any(kind.holds("collated") for kind in kinds):
        raise Undecodable("strings are compared by a collation, by Spark alone")


@dataclass
class Tree:
    """An expression in Spark's JSON."""

    data: dict[str, Any]
    source: Callable[[], Node]
    parts: list[Tree] = field(default_factory=list)

    @cached_property
    def jvm(self) -> Node:
        """The expression in the JVM."""
        return self.source()

    @cached_property
    def kind(self) -> str:
        return str(self.data["class"]).rsplit(".", 1)[-1]

    @cached_property
    def type(self) -> Type:
        if "dataType" in self.data and self.kind in ("AttributeReference", "Literal", "Cast"):
            return computed(decode_type(self.data["dataType"]))
        return computed(decode_type(_json(self.jvm.dataType())))

    def part(self, name: str) -> Tree:
        """The child that is a given parameter."""
        return self.parts[self.data[name]]

    def walk(self) -> Iterator[Tree]:
        yield self
        for part in self.parts:
            yield from part.walk()


def _json(data_type: Node) -> Any:
    return json.loads(data_type.json())


def parse(nodes: list[dict[str, Any]], source: Callable[[], Node]) -> Tree:
    """The tree of a list of JSON nodes in preorder."""
    return _parse(iter(nodes), source)


def _parse(nodes: Iterator[dict[str, Any]], source: Callable[[], Node]) -> Tree:
    tree = Tree(next(nodes), source)
    for i in range(tree.data["num-children"]):
        tree.parts.append(_parse(nodes, lambda i=i: tree.jvm.children().apply(i)))  # type: ignore[misc]
    return tree


def expression(node: Node, data: dict[str, Any], name: str) -> Tree | None:
    """An operator's parameter that is one expression; None if it is not given."""
    if not data.get(name):
        return None

    def source() -> Node:
        value = getattr(node, name)()
        return value.get() if name == "condition" and value.getClass().getName().startswith("scala.Some") else value

    return parse(data[name], source)


def expressions(node: Node, data: dict[str, Any], name: str) -> list[Tree]:
    """An operator's parameter that is a list of expressions."""
    return [parse(nodes, lambda i=i: getattr(node, name)().apply(i)) for i, nodes in enumerate(data[name])]  # type: ignore[misc]


def column_id(data: dict[str, Any]) -> Id:
    """The id of the column that an attribute reads or an alias creates."""
    return (data["exprId"]["id"], data["exprId"]["jvmId"])


def mode_of(tree: Tree) -> str:
    """An expression's failure mode: ANSI, TRY or LEGACY."""
    for flag in ("failOnError", "ansiEnabled"):
        if flag in tree.data:
            return "ANSI" if tree.data[flag] else "LEGACY"
    if "evalContext" in tree.data:
        return str(tree.jvm.evalContext().evalMode().toString())
    return str(tree.jvm.evalMode().toString())


def code_of(tree: Tree) -> bytes:
    """The pickled code of a user's Python function."""
    return bytes(int(b) & 0xFF for b in tree.jvm.func().command().mkString(",").split(","))


def fingerprint(tree: Tree) -> str:
    """A digest of a user's function's code, which distinguishes functions with the same name."""
    is_python = tree.kind in ("PythonUDF", "PythonUDAF")
    code = code_of(tree) if is_python else str(tree.jvm.getClass().getName()).encode()
    return hashlib.sha256(code).hexdigest()[:8]
