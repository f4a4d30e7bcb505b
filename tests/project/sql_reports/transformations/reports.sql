-- Comes before what it reads.
USE SCHEMA shop;
CREATE MATERIALIZED VIEW best_customers COMMENT 'the first three' AS
SELECT cust, total FROM shop.spend ORDER BY total DESC, cust LIMIT 3;

CREATE MATERIALIZED VIEW spend AS
SELECT o.cust, count(*) AS n, sum(o.total) AS total
FROM spark_catalog.shop.orders AS o LEFT JOIN small_orders AS s ON o.id = s.id
WHERE s.id IS NULL
GROUP BY o.cust;
CREATE TEMPORARY VIEW small_orders AS SELECT id FROM orders WHERE total < 0;

SET spark.sql.ansi.enabled = true;
CREATE MATERIALIZED VIEW by_note AS
SELECT note, count(*) AS n, max(total) AS top, min(day) AS first FROM orders GROUP BY note;
CREATE MATERIALIZED VIEW ranked AS
SELECT cust, id, rank() OVER (PARTITION BY cust ORDER BY total DESC) AS place FROM orders WHERE cust IS NOT NULL;
