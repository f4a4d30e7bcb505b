select * from (select s, total, row_number() over (partition by s order by total desc) rn from orders) where
rn<=3
-- program
view v → s, total, rn
  Filter rn <= 3                                                              keyed  (within the operator below)
    Window [PARTITION BY s ORDER BY total DESC] row_number() OVER (ROWS UNBOUNDED PRECEDING TO CURRENT ROW) AS rn  keyed  (a window reads the first 3 rows of a partition, and those that tie with them)
      Project s, total                                                        ring
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [s] := Project s, total, by s
  v [_key] := Window [PARTITION BY s ORDER BY total DESC] row_number() OVER (ROWS UNBOUNDED PRECEDING TO CURRENT ROW) AS rn
on orders
  v.m1 += π(s, total)(Δorders)
  v += filter(the first of touched groups of v.m1′) − v
