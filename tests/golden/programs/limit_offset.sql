select id, total from orders order by total desc limit 5 offset 3
-- program
view v → id, total
  Top 5 OFFSET 3 ORDER BY total DESC, id                                      keyed  (kept as the first 8 rows with 72 in reserve; when the reserve runs out, the first rows are read in order)
    Project id, total                                                         ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [id, total] := Project id, total
  v.m2 [id, total, _first1] := the first rows of v.m1, with a reserve
  v [id, total] := the view
on orders
  v.m1 += π(id, total)(Δorders)
  v.m2 += leading[total DESC, id](Δv.m1, 8 + 72)
  v += π(id, total)(σ(_first1)(Δv.m2))
