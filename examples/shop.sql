-- Run it with: viewlet run examples/shop.sql --warehouse /tmp/shop
DROP TABLE IF EXISTS orders CASCADE;
CREATE TABLE orders (id BIGINT, cust BIGINT, total DECIMAL(12,2), PRIMARY KEY (id));

CREATE MATERIALIZED VIEW spend AS
SELECT cust, count(*) AS orders, sum(total) AS total FROM orders GROUP BY cust;

INSERT INTO orders VALUES (1, 7, 80.00), (2, 7, 40.00), (3, 9, 15.50);
UPDATE orders SET total = total + 1 WHERE cust = 7;
DELETE FROM orders WHERE id = 3;

SELECT * FROM spend ORDER BY cust;
EXPLAIN spend;
