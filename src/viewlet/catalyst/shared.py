"""Functions that users registered in a session, for another session beside it."""

from __future__ import annotations

from pyspark.sql import SparkSession

from viewlet.catalyst.jvm import items


def share_functions(given: SparkSession, to: SparkSession) -> None:
    """Let every function that is registered in one session be known in another, as it is now."""
    state, registry = given._jsparkSession.sessionState(), to._jsparkSession.sessionState().functionRegistry()
    for name in items(state.catalog().listTemporaryFunctions()):
        known = state.functionRegistry()
        registry.registerFunction(name, known.lookupFunction(name).get(), known.lookupFunctionBuilder(name).get())
