"""The tables that golden plans and programs are made of."""

from __future__ import annotations

from viewlet.plan.types import Field, parse_type


def fields(*columns: str) -> tuple[Field, ...]:
    """Columns from texts such as `id bigint not null`."""
    result = []
    for column in columns:
        name, _, kind = column.partition(" ")
        result.append(Field(name, parse_type(kind.removesuffix(" not null")), not kind.endswith(" not null")))
    return tuple(result)


TABLES = {
    "orders": fields(
        "id bigint not null", "cust bigint", "total decimal(12,2)", "d double", "day date", "ts timestamp", "s string",
        "b binary", "arr array<int>", "m map<string,int>", "st struct<x:int,y:string>",
    ),
    "customers": fields("cust bigint not null", "name string", "region string"),
    "part": fields("p_partkey bigint not null", "p_mfgr string", "p_type string", "p_size int", "p_brand string", "p_container string"),
    "supplier": fields("s_suppkey bigint not null", "s_acctbal decimal(12,2)", "s_name string", "s_nationkey int"),
    "partsupp": fields("ps_partkey bigint not null", "ps_suppkey bigint not null", "ps_supplycost decimal(12,2)"),
    "nation": fields("n_nationkey int not null", "n_name string", "n_regionkey int"),
    "region": fields("r_regionkey int not null", "r_name string"),
    "lineitem": fields(
        "l_orderkey bigint", "l_partkey bigint", "l_suppkey bigint", "l_quantity decimal(12,2)", "l_extendedprice decimal(12,2)",
        "l_discount decimal(12,2)", "l_shipdate date", "l_commitdate date", "l_receiptdate date",
    ),
    "ord": fields("o_orderkey bigint not null", "o_custkey bigint", "o_orderstatus string", "o_orderdate date", "o_shippriority int"),
    "cust": fields("c_custkey bigint not null", "c_name string", "c_phone string", "c_acctbal decimal(12,2)", "c_mktsegment string"),
}  # fmt: skip
