select * from (select id, cust, id+1 as c2 from orders) unpivot (v for k in (cust, c2))
-- plan
Filter v IS NOT NULL
  Expand [id, k, v] (id, 'cust', cust), (id, 'c2', c2)
    Project id, cust, id + 1 AS c2
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
