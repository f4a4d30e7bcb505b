"""Evaluating plans on rows in this process: how regrouped operators recompute their touched groups.

The law: on the rows of the plan's inputs, `compile_plan(plan)` gives the same bag as Spark, or `why_not(plan)` says why
only Spark can. Where Spark leaves a result open (ties, the order of a list), ours does not depend on the order of the
rows. Values are compared only as integer codes (keys.py) or integer sort keys (columns/order.py) that mirror Spark's
equality and order, and integers add up exactly (integer_sums.py).
"""

from viewlet.engine.groups.plans import compile_plan, why_not

__all__ = ["compile_plan", "why_not"]
