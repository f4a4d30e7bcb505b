CREATE TEMPORARY VIEW small_orders (id, amount) AS SELECT id, total FROM orders WHERE total < 0;

CREATE VIEW customers AS SELECT DISTINCT cust FROM orders;

CREATE STREAMING TABLE orders;
CREATE FLOW from_files AS INSERT INTO orders BY NAME
SELECT id, cust, total, day FROM STREAM(parquet.`landing/orders`);

CREATE STREAMING TABLE large USING parquet AS SELECT id, total FROM STREAM orders WHERE total > 50;

CREATE MATERIALIZED VIEW by_note AS
SELECT note, count(*) AS n, max(total) AS top FROM parquet.`landing/orders` GROUP BY note;
