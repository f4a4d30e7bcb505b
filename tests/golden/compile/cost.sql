-- case: nothing is known
SELECT c.region, sum(l.l_quantity) AS n FROM customers c JOIN orders o ON c.cust = o.cust JOIN lineitem l ON l.l_orderkey = o.id GROUP BY c.region
-- products
customers: 1,000 rows
lineitem: 1,000 rows
orders: 1,000 rows
customers → lineitem: 1,000.00
customers → orders: 31.62
lineitem → customers: 1,000.00
lineitem → orders: 31.62
orders → customers: 31.62
orders → lineitem: 31.62
-- choices
customers ⋈ orders as one map: saves 1,304, costs 5,466 rows per 100 changed: not kept
lineitem ⋈ orders as one map: saves 1,304, costs 5,466 rows per 100 changed: not kept
-- case: sizes and keys
-- facts: {"rows": {"customers": 1000, "orders": 1000000, "lineitem": 4000000}, "keys": {"customers": [0], "orders": [0]}}
SELECT c.region, sum(l.l_quantity) AS n FROM customers c JOIN orders o ON c.cust = o.cust JOIN lineitem l ON l.l_orderkey = o.id GROUP BY c.region
-- products
customers: 1,000 rows
lineitem: 4,000,000 rows
orders: 1,000,000 rows
customers → lineitem: 4,000,000.00
customers → orders: 1,000.00
lineitem → customers: 1,000.00
lineitem → orders: 1.00
orders → customers: 1.00
orders → lineitem: 4.00
-- choices
customers ⋈ orders as one map: saves 330, costs 1,330 rows per 100 changed: not kept
lineitem ⋈ orders as one map: saves 270, costs 1,570 rows per 100 changed: not kept
-- case: only the smallest table changes
-- facts: {"rows": {"customers": 1000, "orders": 100000, "lineitem": 400000}, "keys": {"customers": [0], "orders": [0]}, "rates": {"customers": 10.0}}
SELECT c.region, sum(l.l_quantity) AS n FROM customers c JOIN orders o ON c.cust = o.cust JOIN lineitem l ON l.l_orderkey = o.id GROUP BY c.region
-- products
customers: 1,000 rows
lineitem: 400,000 rows
orders: 100,000 rows
customers → lineitem: 400,000.00
customers → orders: 100.00
lineitem → customers: 1,000.00
lineitem → orders: 1.00
orders → customers: 1.00
orders → lineitem: 4.00
-- choices
lineitem ⋈ orders as one map: saves 10,250, costs 1,250 rows per 100 changed: kept
customers ⋈ orders as one map: saves 250, costs 21,250 rows per 100 changed: not kept
-- case: a static table starts no statement
-- facts: {"rows": {"customers": 1000, "orders": 100000, "lineitem": 400000}, "static": ["customers"]}
SELECT c.region, sum(l.l_quantity) AS n FROM customers c JOIN orders o ON c.cust = o.cust JOIN lineitem l ON l.l_orderkey = o.id WHERE c.name LIKE 'A%' GROUP BY c.region
-- products
customers: 100 rows
lineitem: 400,000 rows
orders: 100,000 rows
customers → lineitem: 400,000.00
customers → orders: 316.23
lineitem → customers: 100.00
lineitem → orders: 316.23
orders → customers: 10.00
orders → lineitem: 632.46
-- choices
customers ⋈ orders as one map: saves 8,234, costs 1,149 rows per 100 changed: kept
