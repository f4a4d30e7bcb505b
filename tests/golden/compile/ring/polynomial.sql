-- case: decimals
SELECT sum(o.total * (l.l_quantity - 2.5)) AS n, sum(o.total + l.l_quantity) AS m FROM orders o JOIN lineitem l ON l.l_orderkey = o.id
-- polynomials
total * (l_quantity - 2.5) = 1 · [total] · [l_quantity - 2.5]
total + l_quantity = 1 · [total] + 1 · [l_quantity]
-- case: doubles
SELECT a.cust, sum(a.d - b.d) AS difference, sum(a.d * b.d * 0.5D * b.d) AS cubic, avg(2.0D * a.d) AS twice FROM orders a JOIN orders b ON a.cust = b.cust GROUP BY a.cust
-- polynomials
d - d_2 = 1 · [d] + -1 · [d_2]
d * d_2 * 0.5 * d_2 = 1/2 · [d] · [multiply_exactly(d_2, d_2)]
2.0 * d = 1 · [2.0 * d]
-- case: doubles that are divided
SELECT sum(a.d / b.d) AS n FROM orders a JOIN orders b ON a.cust = b.cust
-- polynomials
d / d_2 = no exact polynomial
