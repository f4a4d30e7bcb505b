select cust, sum(total) t from orders group by cust
-- plan
Aggregate [cust] cust, sum(total) AS t
  Project cust, total
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
