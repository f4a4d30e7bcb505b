select id, total from orders order by total desc limit 5 offset 3
-- plan
Top 5 OFFSET 3 ORDER BY total DESC, id
  Project id, total
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
