select * from (select s, total, row_number() over (partition by s order by total desc) rn from orders) where
rn<=3
-- plan
Filter rn <= 3
  Window [PARTITION BY s ORDER BY total DESC] row_number() OVER (ROWS UNBOUNDED PRECEDING TO CURRENT ROW) AS rn
    Project s, total
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
