-- case: sums, counts and averages
SELECT cust, sum(total) AS total, count(day) AS days, avg(total) AS mean, count(*) AS n FROM orders GROUP BY cust
-- program
view v → cust, total, days, mean, n
  Aggregate [cust] cust, sum(total) AS total_2, count(day) AS days, avg(total) AS mean, count(*) AS n  ring
    Project cust, total, day                                                  ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [cust] := Sum[cust](sum(total), count(day), avg(total), count(*))
  v [cust, total_2, days, mean, n] := the view
on orders
  v.m1 += Sum[cust](sum(_x0), count(_x1), avg(_x0), count(*) · Δorders)
  v += π(cust, _a2 → total_2, _a3 → days, _a4 → mean, _a5 → n)(finalize[cust](Δv.m1))
-- case: a FILTER
SELECT cust, sum(total) FILTER (WHERE day > DATE '2020-01-01') AS total FROM orders GROUP BY cust
-- program
view v → cust, total
  Aggregate [cust] cust, sum(total) FILTER (WHERE day > 2020-01-01) AS total_2  ring
    Project cust, total, day                                                  ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [cust] := Sum[cust](sum(total) FILTER (WHERE day > 2020-01-01))
  v [cust, total_2] := the view
on orders
  v.m1 += Sum[cust](sum(_x0) · π(cust, total → _x0, day > 2020-01-01 → _x1)(Δorders))
  v += π(cust, _a1 → total_2)(finalize[cust](Δv.m1))
-- case: doubles are added up in digits
SELECT cust, sum(d) AS d FROM orders GROUP BY cust
-- program
view v → cust, d
  Aggregate [cust] cust, sum(d) AS d_2                                        ring
    Project cust, d                                                           ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [cust] := Sum[cust](sum(d))
  v [cust, d_2] := the view
on orders
  v.m1 += Sum[cust](sum(_x0) · Δorders)
  v += π(cust, _a1 → d_2)(finalize[cust](Δv.m1))
-- case: moments share their sums of powers
SELECT cust, variance(d) AS v, stddev_pop(d) AS s, corr(d, id) AS c FROM orders GROUP BY cust
-- program
view v → cust, v, s, c
  Aggregate [cust] cust, var_samp(d) AS v, stddev_pop(d) AS s_2, corr(d, cast(id AS double)) AS c  ring
    Project id, cust, d                                                       ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [cust] := Sum[cust](var_samp(d), stddev_pop(d), corr(d, cast(id AS double)))
  v [cust, v, s_2, c] := the view
on orders
  v.m1 += Sum[cust](var_samp(_x0), stddev_pop(_x0), corr(_x0, _x1) · π(cust, d → _x0, cast(id AS double) → _x1)(Δorders))
  v += π(cust, _a4 → v, _a5 → s_2, _a6 → c)(finalize[cust](Δv.m1))
-- case: DISTINCT
SELECT DISTINCT cust, day FROM orders
-- program
view v → cust, day
  Aggregate [cust, day] cust, day                                             ring
    Project cust, day                                                         ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [cust, day] := Sum[cust, day](1)
  v [cust, day] := the view
on orders
  v.m1 += Sum[cust, day](1 · Δorders)
  v += finalize[cust, day](Δv.m1)
-- case: by a double, whose zeros and NaN are one each
SELECT d, count(*) AS n FROM orders GROUP BY d
-- program
view v → d, n
  Aggregate [d] d, count(*) AS n                                              ring
    Project d                                                                 ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [d] := Sum[d](count(*))
  v [d, n] := the view
on orders
  v.m1 += Sum[d](count(*) · π(normalize_float(d) → d)(Δorders))
  v += π(d, _a2 → n)(finalize[d](Δv.m1))
-- case: results over the sums
SELECT cust + 1 AS next, sum(total) / count(*) AS mean FROM orders GROUP BY cust HAVING sum(total) > 100
-- program
view v → next, mean
  Project next, mean                                                          ring
    Filter `sum(total)` IS NOT NULL AND `sum(total)` > 100.00                 ring
      Aggregate [cust] cust + 1 AS next, sum(total) / cast(count(*) AS decimal(20,0)) AS mean, sum(total) AS `sum(total)`  ring
        Project cust, total                                                   ring
          Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [cust] := Sum[cust](sum(total), count(*))
  v [next, mean] := the view
on orders
  v.m1 += Sum[cust](sum(_x0), count(*) · Δorders)
  v += π(next, mean)(σ(`sum(total)` IS NOT NULL AND `sum(total)` > 100.00)(π(cust + 1 → next, _a2 / cast(_a3 AS decimal(20,0)) → mean, _a2 → sum(total))(finalize[cust](Δv.m1))))
-- case: an argument that can fail is added up first
SELECT c.region, sum(o.id / o.cust) AS n FROM orders o JOIN customers c ON o.cust = c.cust GROUP BY c.region
-- program
view v → region, n
  Aggregate [region] region, sum(cast(id AS double) / cast(cust AS double)) AS n  ring
    Project id, cust, region                                                  ring
      Join inner cust = cust_2                                                ring
        Project id, cust                                                      ring
          Filter cust IS NOT NULL                                             ring
            Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
        Project cust_2, region                                                ring
          Scan customers [cust_2, name, region]
maps
  v.m1 [cust_2] := customers → cust_2, region
  v.m2 [cust] := orders → cust, id
  v.m4 [region] := Sum[region](sum(cast(id AS double) / cast(cust AS double)))
  v [region, n] := the view
on customers
  v.m1 += π(cust_2, region)(Δcustomers)
  v.m3 += π(region, cust, id)(Δv.m1 ⋈[cust_2 = cust] v.m2)
  v.m4 += Sum[region](sum(_x0) · π(region, cast(id AS double) / cast(cust AS double) → _x0)(Δv.m3))
  v += π(region, _a3 → n)(finalize[region](Δv.m4))
on orders
  v.m2 += π(cust, id)(σ(cust IS NOT NULL)(Δorders))
  v.m3 += π(region, cust, id)(Δv.m2 ⋈[cust = cust_2] v.m1′)
  v.m4 += Sum[region](sum(_x0) · π(region, cast(id AS double) / cast(cust AS double) → _x0)(Δv.m3))
  v += π(region, _a3 → n)(finalize[region](Δv.m4))
