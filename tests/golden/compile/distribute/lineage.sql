-- case: three tables and a sum
-- facts: {"rows": {"orders": 1500000, "customers": 150000, "lineitem": 6000000, "cust": 150000, "region": 5}, "keys": {"orders": [0], "customers": [0], "lineitem": [0, 1], "cust": [0], "region": [0]}}
SELECT c.region, sum(o.total) AS total FROM orders o JOIN customers c ON o.cust = c.cust JOIN lineitem l ON l.l_orderkey = o.id GROUP BY c.region
-- maps
v.m1: 150,000 rows; cust_2: 150,000
v.m2: 6,000,000 rows; l_orderkey: 1,500,000
v.m3: 1,500,000 rows; cust: 150,000, id: 1,500,000
v.m4: 25 rows; no keys
v: 25 rows; no keys
-- case: a component that pays
-- facts: {"rows": {"supplier": 10000, "partsupp": 800000, "nation": 25, "region": 5}, "keys": {"supplier": [0], "partsupp": [0, 1], "nation": [0], "region": [0]}}
SELECT r_name, sum(ps_supplycost) AS cost FROM region JOIN nation ON r_regionkey = n_regionkey JOIN supplier ON s_nationkey = n_nationkey JOIN partsupp ON ps_suppkey = s_suppkey GROUP BY r_name
-- maps
v.m1: 25 rows; n_regionkey: 5, n_nationkey: 25
v.m2: 10,000 rows; ps_suppkey: 10,000
v.m3: 5 rows; r_regionkey: 5
v.m4: 10,000 rows; s_nationkey: 25, s_suppkey: 10,000
v.m5: 25 rows; no keys
v: 25 rows; no keys
-- case: tpch q17
-- facts: {"rows": {"lineitem": 6000000, "part": 200000}, "keys": {"lineitem": [0, 1], "part": [0]}}
select sum(l_extendedprice) / 7.0 as avg_yearly from lineitem, part where p_partkey = l_partkey and p_brand =
'Brand#23' and p_container = 'MED BOX' and l_quantity < (select 0.2 * avg(l_quantity) from lineitem where
l_partkey = p_partkey)
-- maps
v.m1: 200,000 rows; l_partkey_2: 200,000
v.m2: 200,000 rows; l_partkey_2: 200,000
v.m3: 5,000,000 rows; l_partkey: 200,000
v.m4: 200,000 rows; p_partkey: 200,000
v.m5: 1 rows; no keys
v: 1 rows; no keys
-- case: limit offset
-- facts: {"rows": {"orders": 1500000}, "keys": {"orders": [0]}}
select id, total from orders order by total desc limit 5 offset 3
-- maps
v.m1: 1,500,000 rows; id: 1,500,000
v.m2: 80 rows; id: 1,500,000
v: 80 rows; id: 1,500,000
