-- case: a chain whose end is the only table that changes
-- facts: {"rows": {"customers": 1000, "orders": 100000, "lineitem": 400000}, "keys": {"customers": [0], "orders": [0]}, "rates": {"customers": 10.0}}
SELECT c.region, sum(l.l_quantity * o.total) AS n FROM customers c JOIN orders o ON c.cust = o.cust JOIN lineitem l ON l.l_orderkey = o.id GROUP BY c.region
-- maps
v.m1 [cust] := customers → cust, region
v.m2 [l_orderkey] := Sum[l_orderkey](lineitem)
v.m3 [id] := Sum[cust_2, id](orders)
v.m4 [cust_2] := Sum[cust_2](lineitem ⋈ orders)
v.m5 [region] := Sum[region](sum(l_quantity * total))
v [region, n] := the view
-- maps without decomposition
the same
-- maps without expansion
v.m1 [cust] := customers → cust, region
v.m2 [l_orderkey] := lineitem → l_orderkey, l_quantity
v.m3 [id] := orders → cust_2, id, total
v.m4 [cust_2] := lineitem ⋈ orders → l_quantity, cust_2, total
v.m5 [region] := Sum[region](sum(l_quantity * total))
v [region, n] := the view
-- maps without input_variables
v.m1 [cust] := customers → cust, region
v.m2 [l_orderkey] := lineitem → l_orderkey, l_quantity
v.m3 [id] := orders → cust_2, id, total
v.m4 [cust_2] := lineitem ⋈ orders → l_quantity, cust_2, total
v.m5 [region] := Sum[region](sum(l_quantity * total))
v [region, n] := the view
-- maps without nested
the same
-- maps without higher_order
v.m1 [cust] := customers → cust, region
v.m2 [l_orderkey] := Sum[l_orderkey](lineitem)
v.m3 [cust_2], also by [id] := Sum[cust_2, id](orders)
v.m4 [region] := Sum[region](sum(l_quantity * total))
v [region, n] := the view
-- case: a hub between two small tables that never change
-- facts: {"rows": {"customers": 5, "nation": 5}, "static": ["customers", "nation"]}
SELECT c.region, n.n_name, sum(o.total) AS total FROM orders o JOIN customers c ON o.cust = c.cust JOIN nation n ON o.s = n.n_name GROUP BY c.region, n.n_name
-- maps
v.m1 [cust_2] := customers → cust_2, region
v.m2 [n_name] := nation → n_name
v.m4 [region, n_name] := Sum[region, n_name](sum(total))
v [region, n_name, total_2] := the view
-- maps without decomposition
v.m1 [] := customers → cust_2, region
v.m2 [] := nation → n_name
v.m4 [cust_2, n_name] := customers ⋈ nation → cust_2, region, n_name
v.m5 [region, n_name] := Sum[region, n_name](sum(total))
v [region, n_name, total_2] := the view
-- maps without expansion
the same
-- maps without input_variables
the same
-- maps without nested
the same
-- maps without higher_order
the same
-- case: a left join
SELECT c.name, o.id FROM customers c LEFT JOIN orders o ON c.cust = o.cust
-- maps
v.m1 [cust_2] := Sum[cust_2](1)
v.m2 [cust] := customers → cust, name
v.m3 [cust_2] := orders → cust_2, id
v [name, id] := the view
-- maps without decomposition
the same
-- maps without expansion
v.m1 [cust] := Project cust, name, by cust
v.m2 [cust_2] := Project id, cust_2, by cust_2
v [_key] := Join left cust = cust_2
-- maps without input_variables
the same
-- maps without nested
v.m1 [cust_2] := Sum[cust_2](1)
v.m2 [cust] := customers → cust, name
v.m3 [cust_2] := orders → cust_2, id
v.m4 [_d1] := Aggregate [cust_2] cust_2 AS _d1 → _d1
v [name, id] := the view
-- maps without higher_order
the same
-- case: a nested aggregate
SELECT o.id, t.total FROM orders o JOIN (SELECT cust, sum(total) AS total FROM orders GROUP BY cust) t ON o.cust = t.cust
-- maps
v.m1 [cust_2] := Sum[cust_2](sum(total_2))
v.m2 [cust] := orders → cust, id
v [id, total_3] := the view
-- maps without decomposition
the same
-- maps without expansion
the same
-- maps without input_variables
the same
-- maps without nested
v.m1 [cust_2] := Sum[cust_2](sum(total_2))
v.m2 [cust_2] := Aggregate [cust_2] cust_2, sum(total_2) AS total_3 → cust_2, total_3
v.m3 [cust] := orders → cust, id
v [id, total_3] := the view
-- maps without higher_order
the same
