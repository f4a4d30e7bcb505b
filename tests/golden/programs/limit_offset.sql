select id, total from orders order by total desc limit 5 offset 3
-- program
view v → id, total
  Top 5 OFFSET 3 ORDER BY total DESC, id                                      recompute  (LIMIT over everything has no key)
    Project id, total                                                         ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [] := Project id, total
  v [_key] := Top 5 OFFSET 3 ORDER BY total DESC, id
on orders
  v.m1 += π(id, total)(Δorders)
  v += top(all of v.m1′) − v
