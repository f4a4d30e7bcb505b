-- case: tpch q3
-- facts: {"rows": {"lineitem": 6000000, "ord": 1500000, "cust": 150000}, "keys": {"lineitem": [0, 1], "ord": [0], "cust": [0]}}
select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate, o_shippriority from cust,
ord, lineitem where c_mktsegment = 'BUILDING' and c_custkey = o_custkey and l_orderkey = o_orderkey and
o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15' group by l_orderkey, o_orderdate,
o_shippriority
-- maps
v.m1 [c_custkey] := cust → c_custkey
v.m2 [l_orderkey] := Sum[l_orderkey](lineitem)
v.m3 [o_custkey], also by [o_orderkey] := ord → o_custkey, o_orderkey, o_orderdate, o_shippriority
v.m4 [l_orderkey, o_orderdate, o_shippriority] := Sum[l_orderkey, o_orderdate, o_shippriority](sum(l_extendedprice * (1 - l_discount)))
v [l_orderkey, revenue, o_orderdate, o_shippriority] := the view
-- places
  v.m1                                                                by c_custkey
  v.m2                                                                by l_orderkey
  v.m3                                                                by o_orderkey
  v.m4                                                                by l_orderkey
  v                                                                   by l_orderkey
-- choices
v.m1: by c_custkey
v.m2: by l_orderkey
v.m3: by o_orderkey, by o_custkey
v.m4: by l_orderkey
v: by l_orderkey
-- case: a component that pays
-- facts: {"rows": {"supplier": 10000, "partsupp": 800000, "nation": 25, "region": 5}, "keys": {"supplier": [0], "partsupp": [0, 1], "nation": [0], "region": [0]}}
SELECT r_name, sum(ps_supplycost) AS cost FROM region JOIN nation ON r_regionkey = n_regionkey JOIN supplier ON s_nationkey = n_nationkey JOIN partsupp ON ps_suppkey = s_suppkey GROUP BY r_name
-- maps
v.m1 [n_nationkey], also by [n_regionkey] := nation → n_regionkey, n_nationkey
v.m2 [ps_suppkey] := Sum[ps_suppkey](partsupp)
v.m3 [r_regionkey] := region → r_regionkey, r_name
v.m4 [s_nationkey], also by [s_suppkey] := supplier → s_nationkey, s_suppkey
v.m5 [r_name] := Sum[r_name](sum(ps_supplycost))
v [r_name, cost] := the view
-- places
  v.m1                                                                at the driver
  v.m2                                                                at the driver
  v.m3                                                                at the driver
  v.m4                                                                at the driver
  v.m5                                                                at the driver
  v                                                                   at the driver
-- choices
none
-- case: group by
-- facts: {"rows": {"orders": 1500000, "cust": 150000}, "keys": {"orders": [0], "cust": [0]}}
select cust, sum(total) t from orders group by cust
-- maps
v.m1 [cust] := Sum[cust](sum(total))
v [cust, t] := the view
-- places
  v.m1                                                                at the driver
  v                                                                   at the driver
-- choices
none
-- case: min and max read the first rows of a group
-- facts: {"rows": {"orders": 1500000, "cust": 150000}, "keys": {"orders": [0], "cust": [0]}}
SELECT cust, min(total) AS least, max(day) AS latest FROM orders GROUP BY cust
-- maps
v.m1 [cust] := Project cust, total, day, by cust
v [_key] := Aggregate [cust] cust, min(total) AS least, max(day) AS latest
-- places
  v.m1                                                                by cust
  v                                                                   by cust
-- choices
none
-- case: an outer join with more than equalities
-- facts: {"rows": {"orders": 1500000, "customers": 150000, "cust": 150000, "region": 5}, "keys": {"orders": [0], "customers": [0], "cust": [0], "region": [0]}}
SELECT c.name, o.id FROM customers c LEFT JOIN orders o ON c.cust = o.cust AND (o.total > 5 OR c.region = 'x')
-- maps
v.m1 [cust] := Scan customers [cust, name, region], by cust
v.m2 [cust_2] := Project id, cust_2, total, by cust_2
v [_key] := Join left cust = cust_2 AND (total > 5.00 OR region = 'x')
-- places
  v.m1                                                                by cust
  v.m2                                                                by cust_2
  v                                                                   by group
-- choices
none
-- case: a group of everything
-- facts: {"rows": {"orders": 1500000}, "keys": {"orders": [0]}}
SELECT max(total) AS most FROM orders
-- maps
v.m1 [] := Project total
v [_key] := Aggregate [] max(total) AS most
-- places
  v.m1                                                                on one partition
  v                                                                   on one partition
-- choices
none
