select cust, sum(d) total, count(*) n from orders group by cust
-- program
view v → cust, total, n
  Aggregate [cust] cust, sum(d) AS total_2, count(*) AS n                     ring
    Project cust, d                                                           ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [cust] := Sum[cust](sum(d), count(*))
  v [cust, total_2, n] := the view
on orders
  v.m1 += Sum[cust](sum(_x0), count(*) · Δorders)
  v += π(cust, _a2 → total_2, _a3 → n)(answer[cust](Δv.m1))
