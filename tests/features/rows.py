"""Queries for rows, joins, set operators, subqueries and nested data."""

ROWS = {
    "projection": "SELECT id, qty * 2 AS twice, upper(product) AS p FROM orders",
    "filter": "SELECT id FROM orders WHERE qty > 3 AND product LIKE 'p%'",
    "DISTINCT": "SELECT DISTINCT product FROM orders",
    "ORDER BY … LIMIT": "SELECT id, price FROM orders ORDER BY price DESC, id LIMIT 5",
    "LIMIT … OFFSET": "SELECT id, price FROM orders ORDER BY price, id LIMIT 5 OFFSET 3",
    "LIMIT without an order": "SELECT id FROM orders LIMIT 4",
    "VALUES": "SELECT o.id, v.label FROM orders o JOIN VALUES (1, 'one'), (2, 'two') AS v(qty, label) ON o.qty = v.qty",
    "common table expressions": "WITH c AS (SELECT cust, qty FROM orders) SELECT a.cust, b.qty FROM c a JOIN c b ON a.qty = b.cust",
    "recursive queries": "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 4) SELECT n, id FROM r JOIN orders ON n = qty",
}  # fmt: skip

JOINS = {
    "inner": "SELECT o.id, c.name FROM orders o JOIN customers c ON o.cust = c.cust",
    "left": "SELECT o.id, c.name FROM orders o LEFT JOIN customers c ON o.cust = c.cust",
    "right": "SELECT o.id, c.name FROM orders o RIGHT JOIN customers c ON o.cust = c.cust",
    "full": "SELECT o.id, c.name FROM orders o FULL JOIN customers c ON o.cust = c.cust",
    "semi": "SELECT id FROM orders o LEFT SEMI JOIN customers c ON o.cust = c.cust",
    "anti": "SELECT id FROM orders o LEFT ANTI JOIN customers c ON o.cust = c.cust",
    "cross": "SELECT o.id, c.name FROM orders o CROSS JOIN customers c",
    "USING": "SELECT cust, id, name FROM orders JOIN customers USING (cust)",
    "NATURAL": "SELECT cust, id, name FROM orders NATURAL JOIN customers",
    "LATERAL": "SELECT c.cust, l.most FROM customers c, LATERAL (SELECT max(qty) AS most FROM orders o WHERE o.cust = c.cust) l",
    "LATERAL with LIMIT": "SELECT c.cust, l.id FROM customers c, LATERAL (SELECT id FROM orders o WHERE o.cust = c.cust ORDER BY id LIMIT 2) l",
    "inequality": "SELECT o.id, t.high FROM orders o JOIN targets t ON o.qty > t.low",
    "range": "SELECT o.id, t.product FROM orders o JOIN targets t ON o.qty BETWEEN t.low AND t.high",
    "left with an inequality alone": "SELECT o.id, t.high FROM orders o LEFT JOIN targets t ON o.qty > t.high",
    "full with an inequality alone": "SELECT o.id, t.high FROM orders o FULL JOIN targets t ON o.qty > t.high",
    "equality and inequality": "SELECT o.id, t.high FROM orders o LEFT JOIN targets t ON o.product = t.product AND o.qty > t.low",
    "to itself": "SELECT a.id, b.id AS other FROM orders a JOIN orders b ON a.product = b.product AND a.qty < b.qty",
    "NULL-safe": "SELECT o.id, c.name FROM orders o JOIN customers c ON o.cust <=> c.cust",
    "of three tables, added up": "SELECT c.region, sum(o.qty * t.high) AS s FROM orders o JOIN customers c ON o.cust = c.cust JOIN targets t ON o.product = t.product GROUP BY c.region",
}  # fmt: skip

SETS = {
    "UNION ALL": "SELECT cust FROM orders UNION ALL SELECT cust FROM customers",
    "UNION": "SELECT cust FROM orders UNION SELECT cust FROM customers",
    "INTERSECT": "SELECT cust FROM orders INTERSECT SELECT cust FROM customers",
    "INTERSECT ALL": "SELECT cust FROM orders INTERSECT ALL SELECT cust FROM customers",
    "EXCEPT": "SELECT cust FROM orders EXCEPT SELECT cust FROM customers",
    "EXCEPT ALL": "SELECT cust FROM orders EXCEPT ALL SELECT cust FROM customers",
}

SUBQUERIES = {
    "IN": "SELECT id FROM orders WHERE cust IN (SELECT cust FROM customers WHERE vip)",
    "NOT IN, with NULLs": "SELECT id FROM orders WHERE cust NOT IN (SELECT cust FROM customers)",
    "IN of two columns": "SELECT id FROM orders WHERE (product, qty) IN (SELECT product, low FROM targets)",
    "IN under OR": "SELECT id FROM orders WHERE qty > 5 OR cust IN (SELECT cust FROM customers WHERE vip)",
    "EXISTS": "SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM customers c WHERE c.cust = o.cust)",
    "NOT EXISTS": "SELECT id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM customers c WHERE c.cust = o.cust)",
    "EXISTS by an inequality": "SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM targets t WHERE t.low > o.qty)",
    "EXISTS of anything": "SELECT id FROM orders WHERE EXISTS (SELECT 1 FROM customers WHERE vip)",
    "scalar": "SELECT id FROM orders WHERE qty = (SELECT max(low) FROM targets)",
    "scalar, in the select list": "SELECT id, (SELECT count(*) FROM customers) AS n FROM orders",
    "scalar, correlated": "SELECT cust, (SELECT sum(qty) FROM orders o WHERE o.cust = c.cust) AS s FROM customers c",
    "scalar, correlated by an inequality": "SELECT id, (SELECT sum(high) FROM targets t WHERE t.low < o.qty) AS s FROM orders o",
    "below an aggregate": "SELECT product, count(*) AS n FROM orders o WHERE qty > (SELECT avg(qty) FROM orders i WHERE i.product = o.product) GROUP BY product",
}  # fmt: skip

NESTED = {
    "explode": "SELECT id, explode(tags) AS tag FROM orders",
    "LATERAL VIEW": "SELECT id, tag FROM orders LATERAL VIEW explode(tags) t AS tag",
    "LATERAL VIEW OUTER": "SELECT id, tag FROM orders LATERAL VIEW OUTER explode(tags) t AS tag",
    "posexplode": "SELECT id, at, tag FROM orders LATERAL VIEW posexplode(tags) t AS at, tag",
    "explode of a map": "SELECT id, k, v FROM orders LATERAL VIEW explode(attrs) t AS k, v",
    "inline": "SELECT id, x, y FROM orders LATERAL VIEW inline(lines) t AS x, y",
    "stack": "SELECT id, v FROM orders LATERAL VIEW stack(2, qty, cust) t AS v",
    "explode, added up": "SELECT tag, sum(qty) AS s FROM orders LATERAL VIEW explode(tags) t AS tag GROUP BY tag",
    "fields of structs": "SELECT ship.city, sum(qty) AS s FROM orders GROUP BY ship.city",
    "group by a struct": "SELECT ship, count(*) AS n FROM orders GROUP BY ship",
    "group by an array": "SELECT tags, count(*) AS n FROM orders GROUP BY tags",
    "map look-up": "SELECT id, attrs['a'] AS a FROM orders",
    "higher-order functions": "SELECT id, transform(tags, x -> x + 1) AS t, filter(tags, x -> x > 1) AS f, aggregate(tags, 0, (s, x) -> s + coalesce(x, 0)) AS s FROM orders",
    "collect_list of structs": "SELECT cust, collect_list(struct(id, qty)) AS mine FROM orders GROUP BY cust",
    "JSON": "SELECT id, get_json_object(doc, '$.x') AS x, from_json(doc, 'x INT, y STRING') AS d FROM orders",
    "VARIANT": "SELECT id, try_variant_get(try_parse_json(doc), '$.x', 'int') AS x FROM orders",
    "a VARIANT as result": "SELECT id, try_parse_json(doc) AS v FROM orders",
    "variant_explode": "SELECT id, l.key FROM orders, LATERAL variant_explode(try_parse_json(doc)) AS l",
}  # fmt: skip
