SET spark.sql.ansi.enabled = true;
CREATE MATERIALIZED VIEW spent AS SELECT cust, sum(total) AS total FROM events GROUP BY cust;
CREATE STREAMING TABLE named AS
SELECT e.id, n.name FROM STREAM(events) e LEFT JOIN names n ON e.cust = n.cust;
CREATE MATERIALIZED VIEW names AS SELECT * FROM VALUES (1, 'ada'), (2, 'bob') AS v(cust, name);
CREATE MATERIALIZED VIEW ranked AS
SELECT id, total, percent_rank() OVER (ORDER BY total) AS share FROM events WHERE total > 0;
