CREATE MATERIALIZED VIEW orders AS SELECT id, cust, total, day, note FROM parquet.`landing/orders`;
