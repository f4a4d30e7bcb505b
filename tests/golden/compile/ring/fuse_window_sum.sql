-- case: a sum over a running sum
SELECT sum(s) AS total FROM (SELECT sum(total) OVER (ORDER BY id) AS s FROM orders)
-- program
view v → total
  Aggregate [] sum(s_2) AS total_2                                            recompute  (a global aggregate over a running sum is fused with it, because each change touches every row)
    Project total, id                                                         ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [] := Project total, id
  v [_key] := Aggregate [] sum(s_2) AS total_2
on orders
  v.m1 += π(total, id)(Δorders)
  v += aggregate(all of v.m1′) − v
-- case: with an aggregate of the same table beside it
SELECT sum(o.total) AS total FROM orders o WHERE (SELECT sum(a.total) FROM orders a WHERE a.id > o.id) < 0.25 * (SELECT sum(total) FROM orders)
-- program
view v → total
  Aggregate [] sum(_s1) AS total_5                                            recompute  (a global aggregate over a running sum is fused with it, because each change touches every row)
    Aggregate [id_2] id_2 AS id_3                                             ring
      Project id_2                                                            ring
        Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
    Aggregate [id_4] id_4 AS id_3, false AS _asks1, count(*) AS _s1_0, sum(total_3) AS _s1_1  ring
      Project id_4, total_3                                                   ring
        Scan orders [id_4, cust_3, total_3, d_3, day_3, ts_3, s_3, b_3, arr_3, m_3, st_3]
    Aggregate [] sum(total_4) AS `sum(total)_2`                               ring
      Project total_4                                                         ring
        Scan orders [id_5, cust_4, total_4, d_4, day_4, ts_4, s_4, b_4, arr_4, m_4, st_4]
    Aggregate [id] id, sum(total) AS _s1                                      ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [id_2] := Sum[id_2](1)
  v.m2 [id_4] := Sum[id_4](count(*), sum(total_3))
  v.m3 [] := Sum[](sum(total_4))
  v.m4 [id] := Sum[id](sum(total))
  v [_key] := Aggregate [] sum(_s1) AS total_5
on orders
  v.m1 += Sum[id_2](1 · Δorders)
  v.m2 += Sum[id_4](count(*), sum(_x0) · Δorders)
  v.m3 += Sum[](sum(_x0) · Δorders)
  v.m4 += Sum[id](sum(_x0) · Δorders)
  v += aggregate(all of v.m1′, v.m2′, v.m3′, v.m4′) − v
-- case: partitions are regrouped instead
SELECT sum(s) AS total FROM (SELECT sum(total) OVER (PARTITION BY cust ORDER BY id) AS s FROM orders)
-- program
view v → total
  Aggregate [] sum(s_2) AS total_2                                            ring
    Project s_2                                                               ring
      Window [PARTITION BY cust ORDER BY id] sum(total) OVER (RANGE UNBOUNDED PRECEDING TO CURRENT ROW) AS s_2  keyed  (a change affects all rows after it)
        Project total, cust, id                                               ring
          Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [cust] := Project total, cust, id, by cust
  v.m2 [_key] := Window [PARTITION BY cust ORDER BY id] sum(total) OVER (RANGE UNBOUNDED PRECEDING TO CURRENT ROW) AS s_2
  v.m3 [] := Sum[](sum(s_2))
  v [total_2] := the view
on orders
  v.m1 += π(total, cust, id)(Δorders)
  v.m2 += window(the affected rows of v.m1′) − v.m2
  v.m3 += Sum[](sum(_x0) · Δv.m2)
  v += π(_a1 → total_2)(finalize[](Δv.m3))
