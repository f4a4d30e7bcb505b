-- case: two columns
SELECT a.id FROM orders a JOIN orders b ON a.day < b.day
-- inequalities
day < day_2  ⟶  day < day_2
+ where day IS NOT NULL AND day_2 IS NOT NULL AND day < day_2
-- case: a difference of decimals
SELECT a.id FROM orders a JOIN orders b ON a.total - b.total > 1000
-- inequalities
total - total_2 > 1000.00  ⟶  cast(total_2 AS decimal(13,2)) + 1000.00 < cast(total AS decimal(13,2))
+ where total IS NOT NULL AND total_2 IS NOT NULL AND total - total_2 > 1000.00
-- case: sums on both sides
SELECT l.l_orderkey FROM lineitem l JOIN partsupp ps ON l.l_quantity + ps.ps_supplycost >= l.l_extendedprice - 5
-- inequalities
l_quantity + ps_supplycost >= l_extendedprice - 5  ⟶  cast(l_extendedprice - l_quantity AS decimal(14,2)) + -5 <= cast(ps_supplycost AS decimal(14,2))
+ where l_quantity IS NOT NULL AND l_extendedprice IS NOT NULL AND ps_supplycost IS NOT NULL AND l_quantity + ps_supplycost >= l_extendedprice - 5
-- case: a disjunction that excludes itself
SELECT a.id FROM orders a JOIN orders b ON a.cust = b.cust AND (a.total - b.total > 10 OR b.total - a.total > 10)
-- inequalities
+ where cust IS NOT NULL AND cust_2 IS NOT NULL AND cust = cust_2 AND total - total_2 > 10.00
+ where cust IS NOT NULL AND cust_2 IS NOT NULL AND cust = cust_2 AND total_2 - total > 10.00
-- case: a disjunction that does not
SELECT a.id FROM orders a JOIN orders b ON a.cust = b.cust AND (a.total > b.total OR a.day > b.day)
-- inequalities
+ where cust IS NOT NULL AND cust_2 IS NOT NULL AND cust = cust_2 AND total > total_2
+ where cust IS NOT NULL AND cust_2 IS NOT NULL AND cust = cust_2 AND day > day_2
− where cust IS NOT NULL AND cust_2 IS NOT NULL AND cust = cust_2 AND total > total_2 AND day > day_2
-- case: doubles are compared as they are
SELECT a.id FROM orders a JOIN orders b ON a.d - b.d > 1
-- inequalities
+ where d IS NOT NULL AND d_2 IS NOT NULL AND d - d_2 > 1.0
