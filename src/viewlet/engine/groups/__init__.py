"""Evaluating a plan on rows at hand, in this process: what a regrouped operator does to its touched groups.

The law: for rows that the plan's inputs hold, `compile_plan(plan)` gives the bag that Spark gives, or
`why_not(plan)` names what only Spark can do. Where Spark leaves an answer open (ties, the order of a list),
ours does not depend on the order of the rows. Values meet only as integer codes (`keys`) or integer sort
keys (`order`) that mirror Spark's equality and order, and integers add up exactly (`integers`).
"""

from viewlet.engine.groups.plans import compile_plan, why_not

__all__ = ["compile_plan", "why_not"]
