-- case: both sides of a self-join are one map
SELECT a.id, b.id AS other FROM orders a JOIN orders b ON a.cust = b.cust
-- maps
v.m1 [cust] := orders → cust, id
v [id, other] := the view
-- maps of a second view
v.m1 [cust] := orders → cust, id
w [id, other] := the view
-- case: sums of a join
SELECT c.region, sum(o.total) AS total FROM orders o JOIN customers c ON o.cust = c.cust GROUP BY c.region
-- maps
v.m1 [cust_2] := customers → cust_2, region
v.m2 [cust] := Sum[cust](orders)
v.m3 [region] := Sum[region](sum(total))
v [region, total_2] := the view
-- maps of a second view
v.m1 [cust_2] := customers → cust_2, region
v.m2 [cust] := Sum[cust](orders)
v.m3 [region] := Sum[region](sum(total))
w [region, total_2] := the view
-- case: a regrouped map belongs to its view
SELECT c.name, o.latest FROM customers c LEFT JOIN (SELECT cust, max(day) AS latest FROM orders GROUP BY cust) o ON c.cust = o.cust
-- maps
v.m1 [cust_2] := Project cust_2, day, by cust_2
v.m2 [_key] := Aggregate [cust_2] cust_2, max(day) AS latest
v.m4 [cust_2] := Sum[cust_2](1)
v.m5 [cust] := customers → cust, name
v.m6 [cust_2] := v.m3 → cust_2, latest
v [name, latest] := the view
-- maps of a second view
v.m1 [cust_2] := Project cust_2, day, by cust_2
w.m2 [_key] := Aggregate [cust_2] cust_2, max(day) AS latest
w.m4 [cust_2] := Sum[cust_2](1)
v.m5 [cust] := customers → cust, name
w.m6 [cust_2] := w.m3 → cust_2, latest
w [name, latest] := the view
