select id, total / (select sum(total) from orders) share from orders where total > (select avg(total) from
orders)
-- program
view v → id, share
  Project id, total / `sum(total)` AS share                                   ring
    Join inner                                                                ring  (no equality connects it: a change meets every row of the other side)
      Project id, total                                                       ring
        Filter cast(total AS decimal(16,6)) > `avg(total)`                    ring
          Join inner                                                          ring  (no equality connects it: a change meets every row of the other side)
            Project id, total                                                 ring
              Filter total IS NOT NULL                                        ring
                Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
            Aggregate [] avg(total_2) AS `avg(total)`                         ring
              Project total_2                                                 ring
                Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
      Aggregate [] sum(total_3) AS `sum(total)`                               ring
        Project total_3                                                       ring
          Scan orders [id_3, cust_3, total_3, d_3, day_3, ts_3, s_3, b_3, arr_3, m_3, st_3]
maps
  v.m1 [] := Sum[](avg(total_2))
  v.m2 [] := Project id, total → id, total
  v.m3 [] := Aggregate [] avg(total_2) AS `avg(total)` → avg(total)
  v.m4 [] := Sum[](sum(total_3))
  v.m5 [] := Project id, total → id, total
  v.m6 [] := Aggregate [] sum(total_3) AS `sum(total)` → sum(total)
  v [id, share] := the view
on orders
  v.m1 += Sum[](avg(_x0) · Δorders)
  v.m2 += π(id, total)(σ(total IS NOT NULL)(Δorders))
  v.m3 += π(_a0 → avg(total))(answer[](Δv.m1))
  v.m4 += Sum[](sum(_x0) · Δorders)
  v.m5 += π(id, total)(σ(cast(total AS decimal(16,6)) > `avg(total)`)(Δv.m2 ⋈[×] v.m3))
  v.m5 += π(id, total)(σ(cast(total AS decimal(16,6)) > `avg(total)`)(π(id, total, avg(total))(Δv.m3 ⋈[×] v.m2′)))
  v.m6 += π(_a0 → sum(total))(answer[](Δv.m4))
  v += π(id, total / `sum(total)` → share)(Δv.m5 ⋈[×] v.m6)
  v += π(id, total / `sum(total)` → share)(Δv.m6 ⋈[×] v.m5′)
