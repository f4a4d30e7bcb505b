select /*+ REPARTITION(3) */ id from orders order by id
-- plan
Project id
  Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
