select id,m from orders limit 5
-- plan
Top 5 ORDER BY id, cast(m AS string)
  Project id, m
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
