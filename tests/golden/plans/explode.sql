select id, e from orders lateral view explode(arr) x as e
-- plan
Generate explode(arr) AS e [id, e]
  Project id, arr
    Filter arr IS NOT NULL AND size(arr) > 0
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
