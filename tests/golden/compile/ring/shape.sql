-- case: equal columns are one variable
SELECT count(*) AS n FROM orders a JOIN orders b ON a.id = b.id JOIN orders c ON b.id = c.id
-- products
orders
  keeps id
  where nothing
orders
  keeps id_2
  where nothing
orders
  keeps id_3
  where nothing
equal: orders.id = orders.id_2 = orders.id_3
-- case: conditions and expressions of one table stay with it
SELECT lower(o.s) AS w FROM orders o JOIN customers c ON upper(o.s) = c.name WHERE o.total > 5 AND c.region = 'x'
-- products
customers
  keeps name
  where region IS NOT NULL AND region = 'x' AND name IS NOT NULL
orders
  keeps upper(s), lower(s)
  where total IS NOT NULL AND total > 5.00 AND s IS NOT NULL
equal: customers.name = orders._e1
-- case: ranges and what is left
SELECT a.id FROM orders a JOIN customers b ON a.cust < b.cust AND a.s <> b.name
-- products
customers
  keeps cust_2, name
  where name IS NOT NULL
orders
  keeps cust, s, id
  where cust IS NOT NULL AND s IS NOT NULL
range: cust < cust_2
residual: s <> name
-- case: two columns of one table in one variable
SELECT a.id FROM orders a JOIN customers b ON a.cust = b.cust AND a.id = b.cust
-- products
customers
  keeps cust_2
  where nothing
orders
  keeps cust, id
  where id = cust AND cust IS NOT NULL AND cust = id
equal: customers.cust_2 = orders.cust
