select id from orders order by total desc limit 5
-- plan
Project id
  Top 5 ORDER BY total DESC, id
    Project id, total
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
