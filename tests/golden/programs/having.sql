select cust, sum(total) t from orders group by cust having sum(total) > 10 and count(*) > 1
-- program
view v → cust, t
  Project cust, t                                                             ring
    Filter t IS NOT NULL AND t > 10.00 AND `count(1)` > 1                     ring
      Aggregate [cust] cust, sum(total) AS t, count(*) AS `count(1)`          ring
        Project cust, total                                                   ring
          Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [cust] := Sum[cust](sum(total), count(*))
  v [cust, t] := the view
on orders
  v.m1 += Sum[cust](sum(_x0), count(*) · Δorders)
  v += π(cust, _a2 → t)(σ(_a2 IS NOT NULL AND _a2 > 10.00 AND _a3 > 1)(answer[cust](Δv.m1)))
