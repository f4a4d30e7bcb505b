-- case: distinct count
select region, count(distinct name) names from customers group by region
-- program
view v → region, names
  Aggregate [_d0] _d0 AS region, count(_d1) AS names                          ring
    Aggregate [region, name] region AS _d0, name AS _d1                       ring
      Project name, region                                                    ring
        Scan customers [cust, name, region]
maps
  v.m1 [region, name] := Sum[region, name](1)
  v.m2 [_d0] := Sum[_d0](count(_d1))
  v [region, names] := the view
on customers
  v.m1 += Sum[region, name](1 · Δcustomers)
  v.m2 += Sum[_d0](count(_x0) · finalize[region, name](Δv.m1))
  v += π(_k1 → region, _a2 → names)(finalize[_d0](Δv.m2))
-- case: double sum
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
  v += π(cust, _a2 → total_2, _a3 → n)(finalize[cust](Δv.m1))
-- case: explode
select id, e from orders lateral view explode(arr) x as e
-- program
view v → id, e
  Generate explode(arr) AS e [id, e]                                          ring
    Project id, arr                                                           ring
      Filter arr IS NOT NULL AND size(arr) > 0                                ring
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v [id, e] := the view
on orders
  v += explode(arr) of (π(id, arr)(σ(arr IS NOT NULL AND size(arr) > 0)(Δorders)))
-- case: full join
select a.id, b.name from orders a full outer join customers b on a.cust = b.cust and b.region = 'x'
-- program
view v → id, name
  Project id, name                                                            ring
    Join full cust = cust_2 AND region = 'x'                                  ring
      Project id, cust                                                        ring
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
      Scan customers [cust_2, name, region]
maps
  v.m1 [cust_2] := Sum[cust_2](1)
  v.m2 [cust] := Sum[cust](1)
  v.m3 [cust_2] := customers → cust_2, name
  v.m4 [cust] := orders → cust, id
  v [id, name] := the view
on customers
  v.m1 += Sum[cust_2](1 · σ(region = 'x')(Δcustomers))
  v.m3 += π(cust_2, name)(σ(region = 'x')(Δcustomers))
  v += π(id, name)(Δv.m3 ⋈[cust_2 = cust] v.m4)
  v += π(id, NULL → name)(−(finalize[cust_2](Δv.m1) ⋈[cust_2 = cust] v.m4))
  v += π(NULL → id, name)(Δcustomers)
  v += π(NULL → id, name)(−(Δv.m3 ⋈[cust_2 = cust] finalize(v.m2′)))
on orders
  v.m2 += Sum[cust](1 · Δorders)
  v.m4 += π(cust, id)(Δorders)
  v += π(id, name)(Δv.m4 ⋈[cust = cust_2] v.m3′)
  v += π(id, NULL → name)(Δorders)
  v += π(id, NULL → name)(−(Δv.m4 ⋈[cust = cust_2] finalize(v.m1′)))
  v += π(NULL → id, name)(−(finalize[cust](Δv.m2) ⋈[cust = cust_2] v.m3))
-- case: group by
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
  v += π(cust, _a1 → t)(finalize[cust](Δv.m1))
-- case: having
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
  v += π(cust, _a2 → t)(σ(_a2 IS NOT NULL AND _a2 > 10.00 AND _a3 > 1)(finalize[cust](Δv.m1)))
-- case: in and not in
select id from orders where cust in (select cust from customers) and s not in (select name from customers)
-- program
view v → id
  Project id                                                                  ring
    Union [id, s]                                                             ring
      Project id, s                                                           ring
        Join anti _in_left = _in_right                                        ring
          Project id, s, 1 AS _in_left                                        ring
            Join anti s = name_2                                              ring
              Filter s IS NOT NULL                                            ring
                Project id, s                                                 ring
                  Join semi cust = cust_2                                     ring
                    Project id, cust, s                                       ring
                      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
                    Aggregate [cust_2] cust_2 AS _d1                          ring
                      Project cust_2                                          ring
                        Scan customers [cust_2, name, region]
              Aggregate [name_2] name_2 AS _d4                                ring
                Project name_2                                                ring
                  Scan customers [cust_3, name_2, region_2]
          Aggregate [_in_right] _in_right AS _d7                              ring
            Project 1 AS _in_right                                            ring
              Filter name_2 IS NULL                                           ring
                Project name_2                                                ring
                  Scan customers [cust_3, name_2, region_2]
      Project id, s                                                           ring
        Join anti _in_left = _in_right                                        ring
          Project id, s, 1 AS _in_left                                        ring
            Filter s IS NULL                                                  ring
              Project id, s                                                   ring
                Join semi cust = cust_2                                       ring
                  Project id, cust, s                                         ring
                    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
                  Aggregate [cust_2] cust_2 AS _d9                            ring
                    Project cust_2                                            ring
                      Scan customers [cust_2, name, region]
          Aggregate [_in_right] _in_right AS _d12                             ring
            Project 1 AS _in_right                                            ring
              Project name_2                                                  ring
                Scan customers [cust_3, name_2, region_2]
maps
  v.m1 [cust_2] := Sum[cust_2](1)
  v.m2 [cust] := orders → cust, id, s
  v.m4 [name_2] := Sum[name_2](1)
  v.m5 [s] := v.m3 → s, id
  v.m7 [_in_right] := Sum[_in_right](1)
  v.m8 [_in_right] := Sum[_in_right](1)
  v.m9 [] := Aggregate [_in_right] _in_right AS _d7 → 
  v.m10 [] := v.m6 → id
  v.m11 [] := Aggregate [_in_right] _in_right AS _d12 → 
  v.m12 [] := v.m3 → id
  v [id] := the view
on customers
  v.m1 += Sum[cust_2](1 · Δcustomers)
  v.m3 += π(id, cust, s)(finalize[cust_2](Δv.m1) ⋈[cust_2 = cust] v.m2)
  v.m4 += Sum[name_2](1 · Δcustomers)
  v.m5 += π(s, id)(σ(s IS NOT NULL)(Δv.m3))
  v.m6 += π(id, s)(σ(s IS NOT NULL)(Δv.m3))
  v.m6 += π(id, s)(−(finalize[name_2](Δv.m4) ⋈[name_2 = s] v.m5))
  v.m6 += π(id, s)(−(Δv.m5 ⋈[s = name_2] finalize(v.m4′)))
  v.m7 += Sum[_in_right](1 · π(1 → _in_right)(σ(name_2 IS NULL)(Δcustomers)))
  v.m8 += Sum[_in_right](1 · π(1 → _in_right)(Δcustomers))
  v.m9 += π()(σ(1 = _k8)(finalize[_in_right](Δv.m7)))
  v.m10 += π(id)(Δv.m6)
  v.m11 += π()(σ(1 = _k13)(finalize[_in_right](Δv.m8)))
  v.m12 += π(id)(σ(s IS NULL)(Δv.m3))
  v += π(id)(Δv.m6)
  v += π(id)(−(Δv.m9 ⋈[×] v.m10))
  v += π(id)(−(Δv.m10 ⋈[×] v.m9′))
  v += π(id)(σ(s IS NULL)(Δv.m3))
  v += π(id)(−(Δv.m11 ⋈[×] v.m12))
  v += π(id)(−(Δv.m12 ⋈[×] v.m11′))
on orders
  v.m2 += π(cust, id, s)(Δorders)
  v.m3 += π(id, cust, s)(Δv.m2 ⋈[cust = cust_2] finalize(v.m1′))
  v.m5 += π(s, id)(σ(s IS NOT NULL)(Δv.m3))
  v.m6 += π(id, s)(σ(s IS NOT NULL)(Δv.m3))
  v.m6 += π(id, s)(−(Δv.m5 ⋈[s = name_2] finalize(v.m4′)))
  v.m10 += π(id)(Δv.m6)
  v.m12 += π(id)(σ(s IS NULL)(Δv.m3))
  v += π(id)(Δv.m6)
  v += π(id)(−(Δv.m10 ⋈[×] v.m9′))
  v += π(id)(σ(s IS NULL)(Δv.m3))
  v += π(id)(−(Δv.m12 ⋈[×] v.m11′))
-- case: limit offset
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
  v.m2 += top-k[total DESC, id](Δv.m1, 8 + 72)
  v += π(id, total)(σ(_first1)(Δv.m2))
-- case: sessions
SELECT cust, session_window.start AS t, sum(total) AS s
FROM orders
GROUP BY cust, session_window(ts, CASE WHEN cust = 1 THEN '5 minutes' ELSE '1 day' END)
-- program
view v → cust, t, s
  Aggregate [cust, session_window] cust, session_window.start AS t, sum(total) AS s_2  ring
    Sessions [cust] session_window                                            keyed  (a change affects the sessions that it touches)
      Project named_struct('start', precise_time(precise_time(ts)), 'end', precise_time(precise_time(add_micros(ts, CASE WHEN cust = 1 THEN 300000000 ELSE 86400000000 END)))) AS session_window, cust, total  ring
        Filter ts IS NOT NULL AND precise_time(precise_time(add_micros(ts, CASE WHEN cust = 1 THEN 300000000 ELSE 86400000000 END))) > precise_time(precise_time(ts))  ring
          Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m2 [cust] := Sessions [cust] session_window, by cust, time
  v.m3 [cust, session_window] := Sum[cust, session_window](sum(total))
  v [cust, t, s_2] := the view
on orders
  v.m1 += π(cust, total, session_window.start → _t1, session_window.end → _t2)(π(named_struct('start', precise_time(precise_time(ts)), 'end', precise_time(precise_time(add_micros(ts, CASE WHEN cust = 1 THEN 300000000 ELSE 86400000000 END)))) → session_window, cust, total)(σ(ts IS NOT NULL AND precise_time(precise_time(add_micros(ts, CASE WHEN cust = 1 THEN 300000000 ELSE 86400000000 END))) > precise_time(precise_time(ts)))(Δorders)))
  v.m2 += sessionize[cust](_t1 – _t2 · Δv.m1, what it meets of v.m2)
  v.m3 += Sum[cust, session_window](sum(_x0) · π(cust, named_struct('start', _s3, 'end', _s4) → session_window, total → _x0)(Δv.m2))
  v += π(cust, session_window.start → t, _a5 → s_2)(finalize[cust, session_window](Δv.m3))
-- case: top k per group
select * from (select s, total, row_number() over (partition by s order by total desc) rn from orders) where
rn<=3
-- program
view v → s, total, rn
  Filter rn <= 3                                                              keyed  (evaluated within the operator below)
    Window [PARTITION BY s ORDER BY total DESC] row_number() OVER (ROWS UNBOUNDED PRECEDING TO CURRENT ROW) AS rn  keyed  (a window reads the first 3 rows of a partition, and rows tied with them)
      Project s, total                                                        ring
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [s] := Project s, total, by s
  v [_key] := Window [PARTITION BY s ORDER BY total DESC] row_number() OVER (ROWS UNBOUNDED PRECEDING TO CURRENT ROW) AS rn
on orders
  v.m1 += π(s, total)(Δorders)
  v += filter(the first rows of touched groups of v.m1′) − v
-- case: tpch q17
select sum(l_extendedprice) / 7.0 as avg_yearly from lineitem, part where p_partkey = l_partkey and p_brand =
'Brand#23' and p_container = 'MED BOX' and l_quantity < (select 0.2 * avg(l_quantity) from lineitem where
l_partkey = p_partkey)
-- program
view v → avg_yearly
  Aggregate [] sum(l_extendedprice) / 7.0 AS avg_yearly                       ring
    Project l_extendedprice                                                   ring
      Join inner cast(l_quantity AS decimal(18,7)) < `(0.2 * avg(l_quantity))` AND l_partkey_2 = p_partkey  ring
        Project l_quantity, l_extendedprice, p_partkey                        ring
          Join inner p_partkey = l_partkey                                    ring
            Project l_partkey, l_quantity, l_extendedprice                    ring
              Filter l_partkey IS NOT NULL AND l_quantity IS NOT NULL         ring
                Scan lineitem [l_orderkey, l_partkey, l_suppkey, l_quantity, l_extendedprice, l_discount, l_shipdate, l_commitdate, l_receiptdate]
            Project p_partkey                                                 ring
              Filter p_brand IS NOT NULL AND p_container IS NOT NULL AND p_brand = 'Brand#23' AND p_container = 'MED BOX'  ring
                Scan part [p_partkey, p_mfgr, p_type, p_size, p_brand, p_container]
        Filter `(0.2 * avg(l_quantity))` IS NOT NULL                          ring
          Aggregate [l_partkey_2] 0.2 * avg(l_quantity_2) AS `(0.2 * avg(l_quantity))`, l_partkey_2  ring
            Project l_partkey_2, l_quantity_2                                 ring
              Filter l_partkey_2 IS NOT NULL                                  ring
                Scan lineitem [l_orderkey_2, l_partkey_2, l_suppkey_2, l_quantity_2, l_extendedprice_2, l_discount_2, l_shipdate_2, l_commitdate_2, l_receiptdate_2]
maps
  v.m1 [l_partkey_2] := Sum[l_partkey_2](avg(l_quantity_2))
  v.m2 [l_partkey_2] := Aggregate [l_partkey_2] 0.2 * avg(l_quantity_2) AS `(0.2 * avg(l_quantity))`, l_partkey_2 → l_partkey_2, _e3
  v.m3 [l_partkey] := Sum[l_partkey, _e2](lineitem)
  v.m4 [p_partkey] := part → p_partkey
  v.m5 [] := Sum[](sum(l_extendedprice))
  v [avg_yearly] := the view
on lineitem
  v.m1 += Sum[l_partkey_2](avg(_x0) · σ(l_partkey_2 IS NOT NULL)(Δlineitem))
  v.m2 += π(l_partkey_2, 0.2 * _a1 → _e3)(σ(0.2 * _a1 IS NOT NULL)(finalize[l_partkey_2](Δv.m1)))
  v.m3 += Sum[l_partkey, _e2](sum(_x5) · π(l_partkey, cast(l_quantity AS decimal(18,7)) → _e2, l_extendedprice → _x5)(σ(l_partkey IS NOT NULL AND l_quantity IS NOT NULL)(Δlineitem)))
  v.m5 += Sum[](_a0 = _w4·_s6·_w8, _a0_n = _w4·_s6_n·_w8 · π(l_partkey_2, _e3, _w4, _s6_0, _s6_1, _s6_n, _w7, l_partkey_2 → l_partkey)(Δv.m2 ⋈[l_partkey_2 = l_partkey, _e2 < _e3] Sum v.m3) ⋈[l_partkey_2 = p_partkey] v.m4)
  v.m5 += Sum[](_a0 = _s6·_w4·_w8, _a0_n = _s6_n·_w4·_w8 · π(l_partkey, _e2, _s6_0, _s6_1, _s6_n, _w7, _w4, l_partkey → l_partkey_2)(Δv.m3 ⋈[l_partkey = l_partkey_2, _e2 < _e3] Sum v.m2′) ⋈[l_partkey_2 = p_partkey] v.m4)
  v += π(_a9 / 7.0 → avg_yearly)(finalize[](Δv.m5))
on part
  v.m4 += π(p_partkey)(σ(p_brand IS NOT NULL AND p_container IS NOT NULL AND p_brand = 'Brand#23' AND p_container = 'MED BOX')(Δpart))
  v.m5 += Sum[](_a0 = _w8·_w4·_s6, _a0_n = _w8·_w4·_s6_n · Δv.m4 ⋈[p_partkey = l_partkey_2] v.m2′ ⋈[l_partkey_2 = l_partkey, _e2 < _e3] Sum v.m3′)
  v += π(_a9 / 7.0 → avg_yearly)(finalize[](Δv.m5))
considered
  lineitem ⋈ lineitem as one map: saves 283, costs 1,383 rows per 100 changed: not kept
-- case: tpch q3
select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate, o_shippriority from cust,
ord, lineitem where c_mktsegment = 'BUILDING' and c_custkey = o_custkey and l_orderkey = o_orderkey and
o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15' group by l_orderkey, o_orderdate,
o_shippriority
-- program
view v → l_orderkey, revenue, o_orderdate, o_shippriority
  Aggregate [l_orderkey, o_orderdate, o_shippriority] l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority  ring
    Project o_orderdate, o_shippriority, l_orderkey, l_extendedprice, l_discount  ring
      Join inner l_orderkey = o_orderkey                                      ring
        Project o_orderkey, o_orderdate, o_shippriority                       ring
          Join inner c_custkey = o_custkey                                    ring
            Project c_custkey                                                 ring
              Filter c_mktsegment IS NOT NULL AND c_mktsegment = 'BUILDING'   ring
                Scan cust [c_custkey, c_name, c_phone, c_acctbal, c_mktsegment]
            Project o_orderkey, o_custkey, o_orderdate, o_shippriority        ring
              Filter o_orderdate IS NOT NULL AND o_orderdate < 1995-03-15 AND o_custkey IS NOT NULL  ring
                Scan ord [o_orderkey, o_custkey, o_orderstatus, o_orderdate, o_shippriority]
        Project l_orderkey, l_extendedprice, l_discount                       ring
          Filter l_shipdate IS NOT NULL AND l_shipdate > 1995-03-15 AND l_orderkey IS NOT NULL  ring
            Scan lineitem [l_orderkey, l_partkey, l_suppkey, l_quantity, l_extendedprice, l_discount, l_shipdate, l_commitdate, l_receiptdate]
maps
  v.m1 [c_custkey] := cust → c_custkey
  v.m2 [l_orderkey] := Sum[l_orderkey](lineitem)
  v.m3 [o_custkey], also by [o_orderkey] := ord → o_custkey, o_orderkey, o_orderdate, o_shippriority
  v.m4 [l_orderkey, o_orderdate, o_shippriority] := Sum[l_orderkey, o_orderdate, o_shippriority](sum(l_extendedprice * (1 - l_discount)))
  v [l_orderkey, revenue, o_orderdate, o_shippriority] := the view
on cust
  v.m1 += π(c_custkey)(σ(c_mktsegment IS NOT NULL AND c_mktsegment = 'BUILDING')(Δcust))
  v.m4 += Sum[l_orderkey, o_orderdate, o_shippriority](_a0 = _w1·_w5·_s3, _a0_n = _w1·_w5·_s3_n · Δv.m1 ⋈[c_custkey = o_custkey] v.m3 ⋈[o_orderkey = l_orderkey] v.m2)
  v += π(l_orderkey, _a6 → revenue, o_orderdate, o_shippriority)(finalize[l_orderkey, o_orderdate, o_shippriority](Δv.m4))
on lineitem
  v.m2 += Sum[l_orderkey](sum(_x2) · π(l_orderkey, l_extendedprice * (1 - l_discount) → _x2)(σ(l_shipdate IS NOT NULL AND l_shipdate > 1995-03-15 AND l_orderkey IS NOT NULL)(Δlineitem)))
  v.m4 += Sum[l_orderkey, o_orderdate, o_shippriority](_a0 = _s3·_w5·_w1, _a0_n = _s3_n·_w5·_w1 · Δv.m2 ⋈[l_orderkey = o_orderkey] v.m3 ⋈[o_custkey = c_custkey] v.m1′)
  v += π(l_orderkey, _a6 → revenue, o_orderdate, o_shippriority)(finalize[l_orderkey, o_orderdate, o_shippriority](Δv.m4))
on ord
  v.m3 += π(o_custkey, o_orderkey, o_orderdate, o_shippriority)(σ(o_orderdate IS NOT NULL AND o_orderdate < 1995-03-15 AND o_custkey IS NOT NULL)(Δord))
  v.m4 += Sum[l_orderkey, o_orderdate, o_shippriority](_a0 = _w5·_w1·_s3, _a0_n = _w5·_w1·_s3_n · Δv.m3 ⋈[o_custkey = c_custkey] v.m1′ ⋈[o_orderkey = l_orderkey] v.m2′)
  v += π(l_orderkey, _a6 → revenue, o_orderdate, o_shippriority)(finalize[l_orderkey, o_orderdate, o_shippriority](Δv.m4))
considered
  cust ⋈ ord as one map: saves 917, costs 3,250 rows per 100 changed: not kept
  lineitem ⋈ ord as one map: saves 917, costs 3,917 rows per 100 changed: not kept
-- case: union all
select id from orders union all select cust from customers
-- program
view v → id
  Union [id_2]                                                                ring
    Project id                                                                ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Project cust_2                                                            ring
      Scan customers [cust_2, name, region]
maps
  v [id_2] := the view
on orders
  v += π(id → id_2)(Δorders)
on customers
  v += π(cust_2 → id_2)(Δcustomers)
-- case: constant rows
SELECT * FROM VALUES (1, 'a'), (2, 'b') AS t(x, y)
-- program
view v → x, y
  Values [x, y] (1, 'a'), (2, 'b')
maps
  v [x, y] := the view
on creation
  v += 2 constant rows
-- case: a filter that only Spark evaluates
SELECT id FROM orders WHERE s RLIKE '^a+$'
-- program
view v → id
  Project id                                                                  ring
    Filter s IS NOT NULL AND RLIKE(s, ^a+$)                                   ring  (on Spark: `RLIKE(s, ^a+$)` is evaluated by Spark alone)
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v [id] := the view
on orders
  v += π(id)(spark⟨Filter s IS NOT NULL AND RLIKE(s, ^a+$)⟩(Δorders))
-- case: grouping sets
SELECT cust, day, sum(total) AS total FROM orders GROUP BY ROLLUP(cust, day)
-- program
view v → cust, day, total
  Aggregate [cust_2, day_2, spark_grouping_id] cust_2, day_2, sum(total) AS total_2  ring
    Expand [total, cust_2, day_2, spark_grouping_id] (total, cust, day, 0), (total, cust, NULL, 1), (total, NULL, NULL, 3)  ring
      Project total, cust, day                                                ring
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [cust_2, day_2, spark_grouping_id] := Sum[cust_2, day_2, spark_grouping_id](sum(total))
  v [cust_2, day_2, total_2] := the view
on orders
  v.m1 += Sum[cust_2, day_2, spark_grouping_id](sum(_x0) · expand×3(π(total, cust, day)(Δorders)))
  v += π(cust_2, day_2, _a1 → total_2)(finalize[cust_2, day_2, spark_grouping_id](Δv.m1))
-- case: a filter goes into the function of a top-k per group
SELECT id, cust FROM (SELECT id, cust, row_number() OVER (PARTITION BY cust ORDER BY id DESC) AS n FROM orders) WHERE n <= 3
-- program
view v → id, cust
  Project id, cust                                                            keyed  (evaluated within the operator below)
    Filter n <= 3                                                             keyed  (evaluated within the operator below)
      Window [PARTITION BY cust ORDER BY id DESC] row_number() OVER (ROWS UNBOUNDED PRECEDING TO CURRENT ROW) AS n  keyed  (a window reads the first 3 rows of a partition, and rows tied with them)
        Project id, cust                                                      ring
          Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [cust] := Project id, cust, by cust
  v [_key] := Window [PARTITION BY cust ORDER BY id DESC] row_number() OVER (ROWS UNBOUNDED PRECEDING TO CURRENT ROW) AS n
on orders
  v.m1 += π(id, cust)(Δorders)
  v += project(the first rows of touched groups of v.m1′) − v
