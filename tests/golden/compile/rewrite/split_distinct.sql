-- case: one argument
SELECT cust, count(DISTINCT day) AS days FROM orders GROUP BY cust
-- plan
Aggregate [cust] cust, count(DISTINCT day) AS days
  Project cust, day
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- rewritten
Aggregate [_d0] _d0 AS cust, count(_d1) AS days
  Aggregate [cust, day] cust AS _d0, day AS _d1
    Project cust, day
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- case: several functions of one argument
SELECT cust, count(DISTINCT total) + 1 AS n, sum(DISTINCT total) AS total FROM orders GROUP BY cust
-- plan
Aggregate [cust] cust, count(DISTINCT total) + 1 AS n, sum(DISTINCT total) AS total_2
  Project cust, total
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- rewritten
Aggregate [_d0] _d0 AS cust, count(_d1) + 1 AS n, sum(_d1) AS total_2
  Aggregate [cust, total] cust AS _d0, total AS _d1
    Project cust, total
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- case: without groups
SELECT count(DISTINCT cust) AS n FROM orders
-- plan
Aggregate [] count(DISTINCT cust) AS n
  Project cust
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- rewritten
Aggregate [] count(_d0) AS n
  Aggregate [cust] cust AS _d0
    Project cust
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- case: the argument is a key
SELECT cust, count(DISTINCT cust) AS n FROM orders GROUP BY cust
-- plan
Aggregate [cust] cust, count(DISTINCT cust) AS n
  Project cust
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- rewritten
Aggregate [_d0] _d0 AS cust, count(_d0) AS n
  Aggregate [cust] cust AS _d0
    Project cust
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- case: beside another aggregate
SELECT cust, count(DISTINCT day) AS days, count(*) AS n FROM orders GROUP BY cust
-- plan
Aggregate [cust] cust, count(DISTINCT day) AS days, count(*) AS n
  Project cust, day
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- rewritten
Aggregate [cust] cust, count(DISTINCT day) AS days, count(*) AS n
  Project cust, day
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- case: an argument that only Spark evaluates
SELECT cust, count(DISTINCT soundex(s)) AS n FROM orders GROUP BY cust
-- plan
Aggregate [cust] cust, count(DISTINCT soundex(s)) AS n
  Project cust, s
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- rewritten
Aggregate [cust] cust, count(DISTINCT soundex(s)) AS n
  Project cust, s
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
