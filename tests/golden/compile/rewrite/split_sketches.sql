-- case: by key
SELECT cust, approx_count_distinct(day) AS days FROM orders GROUP BY cust
-- plan
Aggregate [cust] cust, approx_count_distinct[relativeSD=0.05](day, 3,240 bytes) AS days
  Project cust, day
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- rewritten
Aggregate [_d0] _d0 AS cust, hll_estimate(coalesce(sum(_s), 0.0), count(_s), 3,240 bytes) AS days
  Aggregate [_d0, _d1] _d0, _d1, min(_d2) AS _s
    Project cust AS _d0, shift_right(if(day IS NOT NULL, xxhash64(day), NULL), 55) AS _d1, hll_share(if(day IS NOT NULL, xxhash64(day), NULL), 9) AS _d2
      Project cust, day
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- case: another accuracy and a FILTER
SELECT approx_count_distinct(s, 0.1) FILTER (WHERE id > 3) AS n FROM orders
-- plan
Aggregate [] approx_count_distinct[relativeSD=0.1](s, 3,224 bytes) FILTER (WHERE id > 3) AS n
  Project id, s
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- rewritten
Aggregate [] hll_estimate(coalesce(sum(_s), 0.0), count(_s), 3,224 bytes) AS n
  Aggregate [_d0] _d0, min(_d1) AS _s
    Project shift_right(if(id > 3 AND s IS NOT NULL, xxhash64(s), NULL), 57) AS _d0, hll_share(if(id > 3 AND s IS NOT NULL, xxhash64(s), NULL), 7) AS _d1
      Project id, s
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- case: beside another aggregate
SELECT cust, approx_count_distinct(day) AS days, count(*) AS n FROM orders GROUP BY cust
-- plan
Aggregate [cust] cust, approx_count_distinct[relativeSD=0.05](day, 3,240 bytes) AS days, count(*) AS n
  Project cust, day
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- rewritten
Aggregate [cust] cust, approx_count_distinct[relativeSD=0.05](day, 3,240 bytes) AS days, count(*) AS n
  Project cust, day
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
