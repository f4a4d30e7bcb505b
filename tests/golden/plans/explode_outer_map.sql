select id, k, v from orders lateral view outer explode(m) x as k, v
-- plan
Generate outer explode(m) AS k, v [id, k, v]
  Project id, m
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
