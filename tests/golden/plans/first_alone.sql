select cust, first(s) f from orders group by cust
-- plan
Aggregate [cust] cust, min(s) AS f
  Project cust, s
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
