-- case: an equality
SELECT name FROM customers WHERE cust IN (SELECT cust FROM orders WHERE total > 5)
-- matching
Join semi cust = cust_2
  connects: cust = cust_2
-- case: conditions on one side
SELECT c.name, o.id FROM customers c LEFT JOIN orders o ON c.cust = o.cust AND o.total > 5 AND c.region = 'x'
-- matching
Join left region = 'x' AND cust = cust_2
  connects: cust = cust_2
  of the left: region = 'x'
-- case: equal or both NULL
SELECT a.id FROM orders a LEFT JOIN orders b ON a.cust <=> b.cust
-- matching
Join left cust <=> cust_2
  connects: cust <=> cust_2
-- case: one inequality
SELECT a.id FROM orders a WHERE EXISTS (SELECT 1 FROM orders b WHERE b.cust = a.cust AND b.total > a.total)
-- matching
Join semi cust_2 = cust AND total_2 > total
  connects: cust = cust_2 AND total < total_2
  extreme: max(total_2); seen from the right: min(total)
-- case: two inequalities
SELECT a.id FROM orders a WHERE EXISTS (SELECT 1 FROM orders b WHERE b.id > a.id AND b.total > a.total)
-- matching
Join semi id_2 > id AND total_2 > total
  none
-- case: NOT IN without NULL
SELECT id FROM orders WHERE id NOT IN (SELECT cust FROM customers)
-- matching
Join anti (id = cust_2 OR (id = cust_2) IS NULL)
  connects: id = cust_2
-- case: a disjunction connects the sides
SELECT c.name, o.id FROM customers c LEFT JOIN orders o ON c.cust = o.cust OR c.name = o.s
-- matching
Join left (cust = cust_2 OR name = s)
  none
