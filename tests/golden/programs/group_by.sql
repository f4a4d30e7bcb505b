select cust, sum(total) t from orders group by cust
-- program
view v → cust, t
  Aggregate [cust] cust, sum(total) AS t                                      ring
    Project cust, total                                                       ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [cust] := Sum[cust](sum(total))
  v [cust, t] := the view
on orders
  v.m1 += Sum[cust](sum(_x0) · Δorders)
  v += π(cust, _a1 → t)(answer[cust](Δv.m1))
