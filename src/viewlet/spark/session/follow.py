"""A session that follows another one's settings, temporary views and functions.

What is set or registered in the follower itself stays, until the leader changes something of the same name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from viewlet.spark.session.children import clone
from viewlet.spark.session.handles import functions_of, state_of
from viewlet.spark.session.jvm import Jvm, Node, items
from viewlet.spark.session.settings import settings_of


@dataclass
class _Knowledge:
    """A session's settings, views and functions by name; JVM objects are equal if unchanged."""

    settings: dict[str, str]
    views: dict[str, Node]
    functions: dict[str, Node]


class Follower:
    """A child of a session, brought up to date by `follow`."""

    def __init__(self, leader: SparkSession) -> None:
        self.leader, self.spark = leader, clone(leader)
        self._seen = _knowledge(leader)
        self._own: frozenset[str] = frozenset()

    def follow(self, own: Collection[str] = ()) -> dict[str, str | None]:
        """Copy the leader's changes, except for temporary views whose names are in `own`.

        Returns the settings that changed, with None for those unset.
        """
        now, before, self._own = _knowledge(self.leader), self._own, frozenset(name.lower() for name in own)
        now.views = {name: view for name, view in now.views.items() if name.lower() not in self._own}
        self._take_views((name, None) for name in before - self._own)
        settings = dict(_changes(self._seen.settings, now.settings))
        self._take_settings(settings)
        self._take_views(_changes(self._seen.views, now.views))
        self._take_functions(now.functions)
        self._seen = now
        return settings

    def _take_settings(self, changes: Mapping[str, str | None]) -> None:
        conf = state_of(self.spark).conf()
        for name, value in changes.items():
            conf.unsetConf(name) if value is None else conf.setConfString(name, value)

    def _take_views(self, changes: Iterator[tuple[str, Node | None]]) -> None:
        catalog = state_of(self.spark).catalog()
        for name, view in changes:
            catalog.dropTempView(name) if view is None else catalog.createTempView(name, view, True)

    def _take_functions(self, functions: Mapping[str, Node]) -> None:
        theirs, ours = (state_of(spark).functionRegistry() for spark in (self.leader, self.spark))
        names = functions_of(self.leader)
        for name, builder in _changes(self._seen.functions, functions):
            if builder is None:
                state_of(self.spark).catalog().dropTempFunction(name, True)
            else:
                ours.registerFunction(names[name], theirs.lookupFunction(names[name]).get(), builder)


def share_variables(given: SparkSession, to: SparkSession, text: str) -> None:
    """Copy variables that a text may mention to another session, since Spark neither lists nor clones them."""
    theirs, ours = (state_of(spark).catalogManager().tempVariableManager() for spark in (given, to))
    jvm = Jvm(to)
    for word in () if theirs.isEmpty() else set(re.findall(r"\w+", text.lower())):
        if (found := theirs.get(jvm.seq([word]))).isDefined():
            ours.create(jvm.seq([word]), found.get(), True)


def _knowledge(spark: SparkSession) -> _Knowledge:
    state = state_of(spark)
    catalog, registry = state.catalog(), state.functionRegistry()
    views = {str(name): catalog.getRawTempView(name).get() for name in items(catalog.getTempViewNames())}
    functions = {name: registry.lookupFunctionBuilder(at).get() for name, at in functions_of(spark).items()}
    return _Knowledge(settings_of(spark), views, functions)


def _changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What is new or changed, and None for what is gone."""
    for name in before.keys() - now.keys():
        yield name, None
    for name, value in now.items():
        if name not in before or before[name] != value:
            yield name, value
