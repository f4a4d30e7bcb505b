-- case: two tables
SELECT o.id, c.name FROM orders o JOIN customers c ON o.cust = c.cust
-- program
view v → id, name
  Project id, name                                                            ring
    Join inner cust = cust_2                                                  ring
      Project id, cust                                                        ring
        Filter cust IS NOT NULL                                               ring
          Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
      Project cust_2, name                                                    ring
        Scan customers [cust_2, name, region]
maps
  v.m1 [cust_2] := customers → cust_2, name
  v.m2 [cust] := orders → cust, id
  v [id, name] := the view
on customers
  v.m1 += π(cust_2, name)(Δcustomers)
  v += π(id, name)(Δv.m1 ⋈[cust_2 = cust] v.m2)
on orders
  v.m2 += π(cust, id)(σ(cust IS NOT NULL)(Δorders))
  v += π(id, name)(Δv.m2 ⋈[cust = cust_2] v.m1′)
-- case: three tables and a sum
SELECT c.region, sum(o.total) AS total FROM orders o JOIN customers c ON o.cust = c.cust JOIN lineitem l ON l.l_orderkey = o.id GROUP BY c.region
-- program
view v → region, total
  Aggregate [region] region, sum(total) AS total_2                            ring
    Project total, region                                                     ring
      Join inner l_orderkey = id                                              ring
        Project id, total, region                                             ring
          Join inner cust = cust_2                                            ring
            Project id, cust, total                                           ring
              Filter cust IS NOT NULL                                         ring
                Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
            Project cust_2, region                                            ring
              Scan customers [cust_2, name, region]
        Project l_orderkey                                                    ring
          Filter l_orderkey IS NOT NULL                                       ring
            Scan lineitem [l_orderkey, l_partkey, l_suppkey, l_quantity, l_extendedprice, l_discount, l_shipdate, l_commitdate, l_receiptdate]
maps
  v.m1 [cust_2] := customers → cust_2, region
  v.m2 [l_orderkey] := lineitem → l_orderkey
  v.m3 [cust], also by [id] := Sum[cust, id](orders)
  v.m4 [region] := Sum[region](sum(total))
  v [region, total_2] := the view
on customers
  v.m1 += π(cust_2, region)(Δcustomers)
  v.m4 += Sum[region](_a0 = _w1·_s4·_w2, _a0_n = _w1·_s4_n·_w2 · Δv.m1 ⋈[cust_2 = cust] v.m3 ⋈[id = l_orderkey] v.m2)
  v += π(region, _a6 → total_2)(finalize[region](Δv.m4))
on lineitem
  v.m2 += π(l_orderkey)(σ(l_orderkey IS NOT NULL)(Δlineitem))
  v.m4 += Sum[region](_a0 = _w2·_s4·_w1, _a0_n = _w2·_s4_n·_w1 · Δv.m2 ⋈[l_orderkey = id] v.m3 ⋈[cust = cust_2] v.m1′)
  v += π(region, _a6 → total_2)(finalize[region](Δv.m4))
on orders
  v.m3 += Sum[cust, id](sum(_x3) · σ(cust IS NOT NULL)(Δorders))
  v.m4 += Sum[region](_a0 = _s4·_w1·_w2, _a0_n = _s4_n·_w1·_w2 · Δv.m3 ⋈[cust = cust_2] v.m1′ ⋈[id = l_orderkey] v.m2′)
  v += π(region, _a6 → total_2)(finalize[region](Δv.m4))
considered
  customers ⋈ orders as one map: saves 1,304, costs 5,466 rows per 100 changed: not kept
  lineitem ⋈ orders as one map: saves 1,304, costs 5,466 rows per 100 changed: not kept
-- case: a component that pays
-- facts: {"rows": {"region": 5, "nation": 25, "supplier": 10000, "partsupp": 800000}, "keys": {"region": [0], "nation": [0], "supplier": [0]}, "rates": {"partsupp": 100.0}}
SELECT r_name, sum(ps_supplycost) AS cost FROM region JOIN nation ON r_regionkey = n_regionkey JOIN supplier ON s_nationkey = n_nationkey JOIN partsupp ON ps_suppkey = s_suppkey GROUP BY r_name
-- program
view v → r_name, cost
  Aggregate [r_name] r_name, sum(ps_supplycost) AS cost                       ring
    Project r_name, ps_supplycost                                             ring
      Join inner ps_suppkey = s_suppkey                                       ring
        Project r_name, s_suppkey                                             ring
          Join inner s_nationkey = n_nationkey                                ring
            Project r_name, n_nationkey                                       ring
              Join inner r_regionkey = n_regionkey                            ring
                Scan region [r_regionkey, r_name]
                Project n_nationkey, n_regionkey                              ring
                  Filter n_regionkey IS NOT NULL                              ring
                    Scan nation [n_nationkey, n_name, n_regionkey]
            Project s_suppkey, s_nationkey                                    ring
              Filter s_nationkey IS NOT NULL                                  ring
                Scan supplier [s_suppkey, s_acctbal, s_name, s_nationkey]
        Project ps_suppkey, ps_supplycost                                     ring
          Scan partsupp [ps_partkey, ps_suppkey, ps_supplycost]
maps
  v.m1 [n_nationkey], also by [n_regionkey] := nation → n_regionkey, n_nationkey
  v.m2 [ps_suppkey] := Sum[ps_suppkey](partsupp)
  v.m3 [r_regionkey] := region → r_regionkey, r_name
  v.m4 [s_nationkey], also by [s_suppkey] := supplier → s_nationkey, s_suppkey
  v.m5 [r_name] := Sum[r_name](sum(ps_supplycost))
  v [r_name, cost] := the view
on nation
  v.m1 += π(n_regionkey, n_nationkey)(σ(n_regionkey IS NOT NULL)(Δnation))
  v.m5 += Sum[r_name](_a0 = _w1·_w5·_w6·_s3, _a0_n = _w1·_w5·_w6·_s3_n · Δv.m1 ⋈[n_regionkey = r_regionkey] v.m3 ⋈[n_nationkey = s_nationkey] v.m4 ⋈[s_suppkey = ps_suppkey] v.m2)
  v += π(r_name, _a7 → cost)(finalize[r_name](Δv.m5))
on partsupp
  v.m2 += Sum[ps_suppkey](sum(_x2) · Δpartsupp)
  v.m5 += Sum[r_name](_a0 = _s3·_w6·_w1·_w5, _a0_n = _s3_n·_w6·_w1·_w5 · Δv.m2 ⋈[ps_suppkey = s_suppkey] v.m4 ⋈[s_nationkey = n_nationkey] v.m1′ ⋈[n_regionkey = r_regionkey] v.m3)
  v += π(r_name, _a7 → cost)(finalize[r_name](Δv.m5))
on region
  v.m3 += π(r_regionkey, r_name)(Δregion)
  v.m5 += Sum[r_name](_a0 = _w5·_w1·_w6·_s3, _a0_n = _w5·_w1·_w6·_s3_n · Δv.m3 ⋈[r_regionkey = n_regionkey] v.m1′ ⋈[n_nationkey = s_nationkey] v.m4 ⋈[s_suppkey = ps_suppkey] v.m2′)
  v += π(r_name, _a7 → cost)(finalize[r_name](Δv.m5))
on supplier
  v.m4 += π(s_nationkey, s_suppkey)(σ(s_nationkey IS NOT NULL)(Δsupplier))
  v.m5 += Sum[r_name](_a0 = _w6·_w1·_w5·_s3, _a0_n = _w6·_w1·_w5·_s3_n · Δv.m4 ⋈[s_nationkey = n_nationkey] v.m1′ ⋈[n_regionkey = r_regionkey] v.m3′ ⋈[s_suppkey = ps_suppkey] v.m2′)
  v += π(r_name, _a7 → cost)(finalize[r_name](Δv.m5))
considered
  nation ⋈ region ⋈ supplier as one map: saves 700, costs 2,500 rows per 100 changed: not kept
  nation ⋈ partsupp ⋈ supplier as one map: saves 500, costs 2,800 rows per 100 changed: not kept
  nation ⋈ region as one map: saves 250, costs 1,250 rows per 100 changed: not kept
  partsupp ⋈ supplier as one map: saves 250, costs 1,450 rows per 100 changed: not kept
-- case: no equality connects them
SELECT a.id, b.cust FROM orders a JOIN customers b ON a.cust < b.cust
-- program
view v → id, cust
  Project id, cust_2                                                          ring
    Join inner cust < cust_2                                                  ring  (no equality connects the sides)
      Project id, cust                                                        ring
        Filter cust IS NOT NULL                                               ring
          Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
      Project cust_2                                                          ring
        Scan customers [cust_2, name, region]
maps
  v.m1 [] := customers → cust_2
  v.m2 [] := orders → cust, id
  v [id, cust_2] := the view
on customers
  v.m1 += π(cust_2)(Δcustomers)
  v += π(id, cust_2)(Δv.m1 ⋈[cust < cust_2] v.m2)
on orders
  v.m2 += π(cust, id)(σ(cust IS NOT NULL)(Δorders))
  v += π(id, cust_2)(Δv.m2 ⋈[cust < cust_2] v.m1′)
-- case: a nested aggregate is read from its sums
SELECT o.id, t.n FROM orders o JOIN (SELECT cust, count(*) AS n FROM orders GROUP BY cust) t ON o.cust = t.cust
-- program
view v → id, n
  Project id, n                                                               ring
    Join inner cust = cust_2                                                  ring
      Project id, cust                                                        ring
        Filter cust IS NOT NULL                                               ring
          Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
      Aggregate [cust_2] cust_2, count(*) AS n                                ring
        Project cust_2                                                        ring
          Filter cust_2 IS NOT NULL                                           ring
            Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
maps
  v.m1 [cust_2] := Sum[cust_2](count(*))
  v.m2 [cust] := orders → cust, id
  v [id, n] := the view
on orders
  v.m1 += Sum[cust_2](count(*) · σ(cust_2 IS NOT NULL)(Δorders))
  v.m2 += π(cust, id)(σ(cust IS NOT NULL)(Δorders))
  v += π(id, _a2 → n)(finalize[cust_2](Δv.m1) ⋈[cust_2 = cust] v.m2)
  v += π(id, _a2 → n)(Δv.m2 ⋈[cust = cust_2] finalize(v.m1′))
