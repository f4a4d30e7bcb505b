-- case: filters and projections vanish
SELECT upper(w) AS w FROM (SELECT cust, lower(s) AS w FROM orders WHERE cust = 3) WHERE w > 'a'
-- clauses
+ orders
  where cust IS NOT NULL AND s IS NOT NULL AND cust = 3 AND lower(s) > 'a'
  w := upper(s)
-- case: what can fail is no part of a block
SELECT id + 1 AS next FROM orders WHERE cust = 3
-- clauses
+ Project(orders)
  where nothing
  next := next
-- case: an inner join multiplies
SELECT o.id, c.name FROM orders o JOIN customers c ON o.cust = c.cust WHERE o.total > 5
-- clauses
+ orders ⋈ customers
  where total IS NOT NULL AND total > 5.00 AND cust IS NOT NULL AND cust = cust_2
  id := id, name := name
-- case: a union adds
SELECT cust FROM orders UNION ALL SELECT cust FROM customers WHERE region = 'x'
-- clauses
+ orders
  where nothing
  cust_3 := cust
+ customers
  where region IS NOT NULL AND region = 'x'
  cust_3 := cust_2
-- case: a product of sums
SELECT a.cust FROM (SELECT cust FROM orders UNION ALL SELECT cust FROM customers) a JOIN (SELECT id AS cust FROM orders UNION ALL SELECT cust FROM customers) b ON a.cust = b.cust
-- clauses
+ orders ⋈ orders
  where cust IS NOT NULL AND cust = id_2
  cust_3 := cust
+ orders ⋈ customers
  where cust IS NOT NULL AND cust = cust_6
  cust_3 := cust
+ customers ⋈ orders
  where cust_2 = id_2
  cust_3 := cust_2
+ customers ⋈ customers
  where cust_2 = cust_6
  cust_3 := cust_2
-- case: a semi join
SELECT name FROM customers WHERE cust IN (SELECT cust FROM orders)
-- clauses
+ customers ⋈ Aggregate(orders)
  where cust = cust_2
  name := name
-- case: an anti join
SELECT name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.cust = c.cust)
-- clauses
+ customers
  where nothing
  name := name
− customers ⋈ Aggregate(orders)
  where cust = cust_2
  name := name
-- case: a left join
SELECT c.name, o.id FROM customers c LEFT JOIN orders o ON c.cust = o.cust
-- clauses
+ customers ⋈ orders
  where cust_2 IS NOT NULL AND cust = cust_2
  name := name, id := id
+ customers
  where nothing
  name := name, id := NULL
− customers ⋈ Aggregate(orders)
  where cust = cust_2
  name := name, id := NULL
-- case: a full join
SELECT c.name, o.id FROM customers c FULL JOIN orders o ON c.cust = o.cust
-- clauses
+ customers ⋈ orders
  where cust = cust_2
  name := name, id := id
+ customers
  where nothing
  name := name, id := NULL
− customers ⋈ Aggregate(orders)
  where cust = cust_2
  name := name, id := NULL
+ orders
  where nothing
  name := NULL, id := id
− orders ⋈ Aggregate(customers)
  where cust_2 = cust
  name := NULL, id := id
-- case: existence in a disjunction
SELECT name FROM customers c WHERE region = 'x' OR EXISTS (SELECT 1 FROM orders o WHERE o.cust = c.cust)
-- clauses
+ customers ⋈ Aggregate(orders)
  where cust = cust_2 AND region = 'x' OR true
  name := name
+ customers
  where region = 'x' OR false
  name := name
− customers ⋈ Aggregate(orders)
  where cust = cust_2 AND region = 'x' OR false
  name := name
-- case: a partner further on
SELECT a.id FROM orders a WHERE NOT EXISTS (SELECT 1 FROM orders b WHERE b.cust = a.cust AND b.day > a.day)
-- clauses
+ orders
  where nothing
  id := id
− orders ⋈ Aggregate(orders)
  where cust = _d1 AND day < _d2
  id := id
