-- case: sums beside extremes
SELECT cust, sum(total) AS total, max(day) AS latest FROM orders GROUP BY cust
-- program
view v → cust, total, latest
  Aggregate [cust] cust, sum(total) AS total_2, max(day) AS latest            keyed  (max: only the first rows of a group are read, in order; sums are kept separately)
    Project cust, total, day                                                  ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m2 [cust] := Sum[cust](sum(total))
  v.m3 [cust] := Project cust, day, by cust
  v.m4 [_key] := Aggregate [cust] cust AS _c3, max(day) AS _c4
  v.m5 [_c3] := Aggregate [cust] cust AS _c3, max(day) AS _c4 → _c3, _c4
  v [cust, total_2, latest] := the view
on orders
  v.m1 += π(cust, total, day)(Δorders)
  v.m2 += Sum[cust](sum(_x0) · Δv.m1)
  v.m3 += π(cust, day)(Δv.m1)
  v.m4 += aggregate(the first rows of touched groups of v.m3′) − v.m4
  v.m5 += Δv.m4
  v += π(cust, _a5 → total_2, _c4 → latest)(finalize[cust](Δv.m2) ⋈[cust <=> _c3] v.m5)
  v += π(cust, _a5 → total_2, _c4 → latest)(Δv.m5 ⋈[_c3 <=> cust] finalize(v.m2′))
-- case: distinct values beside sums
SELECT cust, count(DISTINCT day) AS days, sum(total) AS total FROM orders GROUP BY cust
-- program
view v → cust, days, total
  Aggregate [cust] cust, count(DISTINCT day) AS days, sum(total) AS total_2   ring  (sums and distinct values are kept separately and joined by key)
    Project cust, total, day                                                  ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m2 [cust, day] := Sum[cust, day](1)
  v.m3 [_d0] := Sum[_d0](count(_d1))
  v.m4 [cust] := Sum[cust](sum(total))
  v [cust, days, total_2] := the view
on orders
  v.m1 += π(cust, total, day)(Δorders)
  v.m2 += Sum[cust, day](1 · Δv.m1)
  v.m3 += Sum[_d0](count(_x0) · finalize[cust, day](Δv.m2))
  v.m4 += Sum[cust](sum(_x0) · Δv.m1)
  v += π(_k5 → cust, _a6 → days, _a7 → total_2)(finalize[_d0](Δv.m3) ⋈[_k5 <=> cust] finalize(v.m4))
  v += π(_k5 → cust, _a6 → days, _a7 → total_2)(finalize[cust](Δv.m4) ⋈[cust <=> _d0] finalize(v.m3′))
-- case: two distinct arguments
SELECT cust, count(DISTINCT day) AS days, count(DISTINCT s) AS words FROM orders GROUP BY cust
-- program
view v → cust, days, words
  Aggregate [cust] cust, count(`orders.day`) FILTER (WHERE gid = 2) AS days, count(`orders.s`) FILTER (WHERE gid = 1) AS words  ring
    Aggregate [cust, `orders.s`, `orders.day`, gid] cust, `orders.s`, `orders.day`, gid  ring
      Expand [cust, `orders.s`, `orders.day`, gid] (cust, s, NULL, 1), (cust, NULL, day, 2)  ring
        Project cust, day, s                                                  ring
          Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [cust, orders.s, orders.day, gid] := Sum[cust, orders.s, orders.day, gid](1)
  v.m2 [cust] := Sum[cust](count(`orders.day`) FILTER (WHERE gid = 2), count(`orders.s`) FILTER (WHERE gid = 1))
  v [cust, days, words] := the view
on orders
  v.m1 += Sum[cust, orders.s, orders.day, gid](1 · expand×2(π(cust, day, s)(Δorders)))
  v.m2 += Sum[cust](count(_x0), count(_x2) · π(cust, `orders.day` → _x0, gid = 2 → _x1, `orders.s` → _x2, gid = 1 → _x3)(finalize[cust, orders.s, orders.day, gid](Δv.m1)))
  v += π(cust, _a1 → days, _a2 → words)(finalize[cust](Δv.m2))
-- case: percentiles of two columns
SELECT cust, percentile(id, 0.5) AS a, percentile(d, 0.9) AS b FROM orders GROUP BY cust
-- program
view v → cust, a, b
  Aggregate [cust] cust, percentile(id, 0.5, 1) AS a, percentile(d, 0.9, 1) AS b_2  keyed  (percentile: only rows around it are read, in order)
    Project id, cust, d                                                       ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m2 [cust] := Project cust, id, by cust
  v.m3 [_key] := Aggregate [cust] cust AS _c1, percentile(id, 0.5, 1) AS _c2
  v.m4 [cust] := Project cust, d, by cust
  v.m5 [_key] := Aggregate [cust] cust AS _c3, percentile(d, 0.9, 1) AS _c4
  v.m6 [_c1] := Aggregate [cust] cust AS _c1, percentile(id, 0.5, 1) AS _c2 → _c1, _c2
  v.m7 [_c3] := Aggregate [cust] cust AS _c3, percentile(d, 0.9, 1) AS _c4 → _c3, _c4
  v [cust, a, b_2] := the view
on orders
  v.m1 += π(id, cust, d)(Δorders)
  v.m2 += π(cust, id)(Δv.m1)
  v.m3 += aggregate(rows by rank of touched groups of v.m2′) − v.m3
  v.m4 += π(cust, d)(Δv.m1)
  v.m5 += aggregate(rows by rank of touched groups of v.m4′) − v.m5
  v.m6 += Δv.m3
  v.m7 += Δv.m5
  v += π(_c1 → cust, _c2 → a, _c4 → b_2)(Δv.m6 ⋈[_c1 <=> _c3] v.m7)
  v += π(_c1 → cust, _c2 → a, _c4 → b_2)(Δv.m7 ⋈[_c3 <=> _c1] v.m6′)
-- case: states of what only grows, and sums
-- facts: {"growing": ["orders"]}
SELECT cust, max(day) AS latest, count(*) AS n FROM orders GROUP BY cust
-- program
view v → cust, latest, n
  Aggregate [cust] cust, max(day) AS latest, count(*) AS n                    monoid  (its input only grows: the state of max is kept, no rows; sums are kept separately)
    Project cust, day                                                         ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m3 [cust] := States[cust](max(day))
  v.m4 [cust] := Sum[cust](count(*))
  v.m5 [_c1] := Aggregate [cust] cust AS _c1, max(day) AS _c2 → _c1, _c2
  v [cust, latest, n] := the view
on orders
  v.m1 += π(cust, day)(Δorders)
  v.m2 += π(cust, day → _x5)(Δv.m1)
  v.m3 += fold[cust](max(_x5) · Δv.m2)
  v.m4 += Sum[cust](count(*) · Δv.m1)
  v.m5 += π(cust → _c1, _a6 → _c2)(Δv.m3)
  v += π(_c1 → cust, _c2 → latest, _a8 → n)(finalize[cust](Δv.m4) ⋈[cust <=> _c1] v.m5)
  v += π(_c1 → cust, _c2 → latest, _a8 → n)(Δv.m5 ⋈[_c1 <=> cust] finalize(v.m4′))
-- case: an extreme of an expression
SELECT cust, max(id * 2) AS most FROM orders GROUP BY cust
-- program
view v → cust, most
  Aggregate [cust] cust, max(id * 2) AS most                                  keyed  (max: only the first rows of a group are read, in order)
    Project id, cust                                                          ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m2 [cust] := Project cust, id * 2 AS _x3, by cust
  v [_key] := Aggregate [cust] cust AS _c1, max(_x3) AS _c2
on orders
  v.m1 += π(id, cust)(Δorders)
  v.m2 += π(cust, id * 2 → _x3)(Δv.m1)
  v += project(the first rows of touched groups of v.m2′) − v
-- case: a function that needs whole groups keeps all of them together
SELECT cust, sum(total) AS total, collect_list(id) AS ids FROM orders GROUP BY cust
-- program
view v → cust, total, ids
  Aggregate [cust] cust, sum(total) AS total_2, sort_array(collect_list(id), true) AS ids  keyed  (collect_list is not a sum)
    Project id, cust, total                                                   ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [cust] := Project id, cust, total, by cust
  v [_key] := Aggregate [cust] cust, sum(total) AS total_2, sort_array(collect_list(id), true) AS ids
on orders
  v.m1 += π(id, cust, total)(Δorders)
  v += aggregate(touched groups of v.m1′) − v
