-- case: a product of two tables' columns
SELECT o.cust, sum(o.total * l.l_quantity) AS n FROM orders o JOIN lineitem l ON l.l_orderkey = o.id GROUP BY o.cust
-- polynomials
total * l_quantity = 1 · [total] · [l_quantity]
-- program
view v → cust, n
  Aggregate [cust] cust, sum(total * l_quantity) AS n                         ring
    Project cust, total, l_quantity                                           ring
      Join inner l_orderkey = id                                              ring
        Project id, cust, total                                               ring
          Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
        Project l_orderkey, l_quantity                                        ring
          Filter l_orderkey IS NOT NULL                                       ring
            Scan lineitem [l_orderkey, l_partkey, l_suppkey, l_quantity, l_extendedprice, l_discount, l_shipdate, l_commitdate, l_receiptdate]
maps
  v.m1 [l_orderkey] := Sum[l_orderkey](lineitem)
  v.m2 [id] := Sum[id, cust](orders)
  v.m3 [cust] := Sum[cust](sum(total * l_quantity))
  v [cust, n] := the view
on lineitem
  v.m1 += Sum[l_orderkey](sum(_x1) · σ(l_orderkey IS NOT NULL)(Δlineitem))
  v.m3 += Sum[cust](_a0 = _s2·_s5, _a0_n = _s2_n·_s5_n · Δv.m1 ⋈[l_orderkey = id] v.m2)
  v += π(cust, _a7 → n)(finalize[cust](Δv.m3))
on orders
  v.m2 += Sum[id, cust](sum(_x4) · Δorders)
  v.m3 += Sum[cust](_a0 = _s5·_s2, _a0_n = _s5_n·_s2_n · Δv.m2 ⋈[id = l_orderkey] v.m1′)
  v += π(cust, _a7 → n)(finalize[cust](Δv.m3))
-- case: a difference of products
SELECT sum(l.l_extendedprice * (1 - l.l_discount) - ps.ps_supplycost * l.l_quantity) AS profit FROM lineitem l JOIN partsupp ps ON l.l_partkey = ps.ps_partkey AND l.l_suppkey = ps.ps_suppkey
-- polynomials
l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity = 1 · [l_extendedprice * (1 - l_discount)] + -1 · [ps_supplycost] · [l_quantity]
-- program
view v → profit
  Aggregate [] sum(l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity) AS profit  ring
    Project l_quantity, l_extendedprice, l_discount, ps_supplycost            ring
      Join inner l_partkey = ps_partkey AND l_suppkey = ps_suppkey            ring
        Project l_partkey, l_suppkey, l_quantity, l_extendedprice, l_discount  ring
          Filter l_partkey IS NOT NULL AND l_suppkey IS NOT NULL              ring
            Scan lineitem [l_orderkey, l_partkey, l_suppkey, l_quantity, l_extendedprice, l_discount, l_shipdate, l_commitdate, l_receiptdate]
        Scan partsupp [ps_partkey, ps_suppkey, ps_supplycost]
maps
  v.m1 [l_partkey, l_suppkey] := Sum[l_partkey, l_suppkey](lineitem)
  v.m2 [ps_partkey, ps_suppkey] := Sum[ps_partkey, ps_suppkey](partsupp)
  v.m3 [] := Sum[](sum(l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity))
  v [profit] := the view
on lineitem
  v.m1 += Sum[l_partkey, l_suppkey](sum(_x1), sum(_x4) · π(l_partkey, l_suppkey, l_extendedprice * (1 - l_discount) → _x1, l_quantity IS NOT NULL → _x2, l_quantity → _x4, l_extendedprice * (1 - l_discount) IS NOT NULL → _x5)(σ(l_partkey IS NOT NULL AND l_suppkey IS NOT NULL)(Δlineitem)))
  v.m3 += Sum[](_a0 = _s3·_s9_n + -1·_s6·_s9, _a0_n = _s6_n·_s9_n · Δv.m1 ⋈[l_partkey = ps_partkey, l_suppkey = ps_suppkey] v.m2)
  v += π(_a11 → profit)(finalize[](Δv.m3))
on partsupp
  v.m2 += Sum[ps_partkey, ps_suppkey](sum(_x8) · Δpartsupp)
  v.m3 += Sum[](_a0 = _s9_n·_s3 + -1·_s9·_s6, _a0_n = _s9_n·_s6_n · Δv.m2 ⋈[ps_partkey = l_partkey, ps_suppkey = l_suppkey] v.m1′)
  v += π(_a11 → profit)(finalize[](Δv.m3))
-- case: doubles of two tables
SELECT o.cust, sum(o.d * l.l_quantity) AS n FROM orders o JOIN lineitem l ON l.l_orderkey = o.id GROUP BY o.cust
-- polynomials
d * cast(l_quantity AS double) = 1 · [d] · [cast(l_quantity AS double)]
-- program
view v → cust, n
  Aggregate [cust] cust, sum(d * cast(l_quantity AS double)) AS n             ring
    Project cust, d, l_quantity                                               ring
      Join inner l_orderkey = id                                              ring
        Project id, cust, d                                                   ring
          Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
        Project l_orderkey, l_quantity                                        ring
          Filter l_orderkey IS NOT NULL                                       ring
            Scan lineitem [l_orderkey, l_partkey, l_suppkey, l_quantity, l_extendedprice, l_discount, l_shipdate, l_commitdate, l_receiptdate]
maps
  v.m1 [l_orderkey] := Sum[l_orderkey, _v3](lineitem)
  v.m2 [id] := Sum[id, cust, _v7](orders)
  v.m3 [cust] := Sum[cust](sum(d * cast(l_quantity AS double)))
  v [cust, n] := the view
on lineitem
  v.m1 += Sum[l_orderkey](sum(_x1) · π(l_orderkey, cast(l_quantity AS double) → _x1)(σ(l_orderkey IS NOT NULL)(Δlineitem)))
  v.m3 += Sum[cust](_a0 = _s2·_s6, _a0_n = _s2_n·_s6_n · Δv.m1 ⋈[l_orderkey = id] v.m2)
  v += π(cust, _a9 → n)(finalize[cust](Δv.m3))
on orders
  v.m2 += Sum[id, cust](sum(_x5) · Δorders)
  v.m3 += Sum[cust](_a0 = _s6·_s2, _a0_n = _s6_n·_s2_n · Δv.m2 ⋈[id = l_orderkey] v.m1′)
  v += π(cust, _a9 → n)(finalize[cust](Δv.m3))
-- case: counts and averages
SELECT c.region, count(o.day) AS n, avg(o.total) AS mean FROM orders o JOIN customers c ON o.cust = c.cust GROUP BY c.region
-- polynomials
day = no exact polynomial
total = 1 · [total]
-- program
view v → region, n, mean
  Aggregate [region] region, count(day) AS n, avg(total) AS mean              ring
    Project total, day, region                                                ring
      Join inner cust = cust_2                                                ring
        Project cust, total, day                                              ring
          Filter cust IS NOT NULL                                             ring
            Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
        Project cust_2, region                                                ring
          Scan customers [cust_2, name, region]
maps
  v.m1 [cust_2] := customers → cust_2, region
  v.m2 [cust] := Sum[cust](orders)
  v.m3 [region] := Sum[region](count(day), avg(total))
  v [region, n, mean] := the view
on customers
  v.m1 += π(cust_2, region)(Δcustomers)
  v.m3 += Sum[region](_a0_n = _w1·_s3_n, _a1 = _w1·_s5, _a1_n = _w1·_s5_n · Δv.m1 ⋈[cust_2 = cust] v.m2)
  v += π(region, _a7 → n, _a8 → mean)(finalize[region](Δv.m3))
on orders
  v.m2 += Sum[cust](count(*), sum(_x4) · π(cust, day IS NOT NULL → _x2, total → _x4)(σ(cust IS NOT NULL)(Δorders)))
  v.m3 += Sum[region](_a0_n = _s3_n·_w1, _a1 = _s5·_w1, _a1_n = _s5_n·_w1 · Δv.m2 ⋈[cust = cust_2] v.m1′)
  v += π(region, _a7 → n, _a8 → mean)(finalize[region](Δv.m3))
-- case: a product that may overflow
SELECT sum(o.id * l.l_orderkey) AS n FROM orders o JOIN lineitem l ON l.l_orderkey = o.id
-- polynomials
id * l_orderkey = no exact polynomial
-- program
view v → n
  Aggregate [] sum(id * l_orderkey) AS n                                      ring
    Join inner l_orderkey = id                                                ring
      Project id                                                              ring
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
      Project l_orderkey                                                      ring
        Filter l_orderkey IS NOT NULL                                         ring
          Scan lineitem [l_orderkey, l_partkey, l_suppkey, l_quantity, l_extendedprice, l_discount, l_shipdate, l_commitdate, l_receiptdate]
maps
  v.m1 [l_orderkey] := lineitem → l_orderkey
  v.m2 [id] := orders → id
  v.m4 [] := Sum[](sum(id * l_orderkey))
  v [n] := the view
on lineitem
  v.m1 += π(l_orderkey)(σ(l_orderkey IS NOT NULL)(Δlineitem))
  v.m3 += π(id, l_orderkey)(Δv.m1 ⋈[l_orderkey = id] v.m2)
  v.m4 += Sum[](sum(_x0) · π(id * l_orderkey → _x0)(Δv.m3))
  v += π(_a3 → n)(finalize[](Δv.m4))
on orders
  v.m2 += π(id)(Δorders)
  v.m3 += Δv.m2 ⋈[id = l_orderkey] v.m1′
  v.m4 += Sum[](sum(_x0) · π(id * l_orderkey → _x0)(Δv.m3))
  v += π(_a3 → n)(finalize[](Δv.m4))
-- case: doubles over an inequality
SELECT a.cust, sum(a.d - b.d) AS n FROM orders a JOIN orders b ON a.cust = b.cust AND a.day > b.day GROUP BY a.cust
-- polynomials
d - d_2 = 1 · [d] + -1 · [d_2]
-- program
view v → cust, n
  Aggregate [cust] cust, sum(d - d_2) AS n                                    ring
    Project cust, d, d_2                                                      ring
      Join inner cust = cust_2 AND day > day_2                                ring
        Project cust, d, day                                                  ring
          Filter cust IS NOT NULL AND day IS NOT NULL                         ring
            Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
        Project cust_2, d_2, day_2                                            ring
          Filter cust_2 IS NOT NULL AND day_2 IS NOT NULL                     ring
            Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
maps
  v.m1 [cust] := Sum[cust, day, _v3](orders)
  v.m2 [cust] := Sum[cust](sum(d - d_2))
  v [cust, n] := the view
on orders
  v.m1 += Sum[cust, day](sum(_x1) · σ(cust IS NOT NULL AND day IS NOT NULL)(Δorders))
  v.m2 += Sum[cust](_a0 = _s2·_s6_n + -1·_s2_n·_s6, _a0_n = _s2_n·_s6_n · Δv.m1 ⋈[cust, day < day] Sum v.m1)
  v.m2 += Sum[cust](_a0 = _s6_n·_s2 + -1·_s6·_s2_n, _a0_n = _s6_n·_s2_n · Δv.m1 ⋈[cust_2 = cust, day_2 < day] Sum v.m1′)
  v += π(cust, _a9 → n)(finalize[cust](Δv.m2))
-- case: a double of one table
SELECT c.region, sum(o.d) AS n FROM orders o JOIN customers c ON o.cust = c.cust GROUP BY c.region
-- polynomials
d = 1 · [d]
-- program
view v → region, n
  Aggregate [region] region, sum(d) AS n                                      ring
    Project d, region                                                         ring
      Join inner cust = cust_2                                                ring
        Project cust, d                                                       ring
          Filter cust IS NOT NULL                                             ring
            Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
        Project cust_2, region                                                ring
          Scan customers [cust_2, name, region]
maps
  v.m1 [cust_2] := customers → cust_2, region
  v.m2 [cust] := orders → cust, d
  v.m3 [region] := Sum[region](sum(d))
  v [region, n] := the view
on customers
  v.m1 += π(cust_2, region)(Δcustomers)
  v.m3 += Sum[region](sum(_x0) · Δv.m1 ⋈[cust_2 = cust] v.m2)
  v += π(region, _a5 → n)(finalize[region](Δv.m3))
on orders
  v.m2 += π(cust, d)(σ(cust IS NOT NULL)(Δorders))
  v.m3 += Sum[region](sum(_x0) · Δv.m2 ⋈[cust = cust_2] v.m1′)
  v += π(region, _a5 → n)(finalize[region](Δv.m3))
