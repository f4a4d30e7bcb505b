select cust, sum(total) t, rank() over (order by sum(total) desc) r from orders group by cust
-- plan
Project cust, t, r
  Window [ORDER BY c_w0 DESC] rank() OVER (ROWS UNBOUNDED PRECEDING TO CURRENT ROW) AS r
    Aggregate [cust] cust, sum(total) AS t, sum(total) AS c_w0
      Project cust, total
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
