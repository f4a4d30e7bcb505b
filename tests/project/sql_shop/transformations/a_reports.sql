-- Comes before what it reads.
USE shop;
CREATE MATERIALIZED VIEW best_customers COMMENT 'the first three' AS
SELECT cust, total FROM shop.spend ORDER BY total DESC, cust LIMIT 3;

CREATE MATERIALIZED VIEW spend AS
SELECT o.cust, count(*) AS n, sum(o.total) AS total
FROM spark_catalog.shop.orders AS o LEFT JOIN small_orders AS s ON o.id = s.id
WHERE s.id IS NULL
GROUP BY o.cust;
