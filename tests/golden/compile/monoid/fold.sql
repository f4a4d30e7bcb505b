-- case: extremes of what only grows
-- facts: {"growing": ["orders"]}
SELECT cust, max(total) AS most, min(day) AS first FROM orders GROUP BY cust
-- program
view v → cust, most, first
  Aggregate [cust] cust, max(total) AS most, min(day) AS first                monoid  (its input only grows: the state of max, min is kept, no rows)
    Project cust, total, day                                                  ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m2 [cust] := States[cust](max(total), min(day))
  v [cust, most, first] := the view
on orders
  v.m1 += π(cust, total → _x1, day → _x3)(Δorders)
  v.m2 += fold[cust](max(_x1), min(_x3) · Δv.m1)
  v += π(cust, _a2 → most, _a4 → first)(Δv.m2)
-- case: truth values and bits
-- facts: {"growing": ["orders"]}
SELECT cust, bool_and(total > 0) AS positive, bit_or(id) AS bits FROM orders GROUP BY cust
-- program
view v → cust, positive, bits
  Aggregate [cust] cust, min(total > 0.00) AS positive, bit_or(id) AS bits    monoid  (its input only grows: the state of min, bit_or is kept, no rows)
    Project id, cust, total                                                   ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m2 [cust] := States[cust](min(total > 0.00), bit_or(id))
  v [cust, positive, bits] := the view
on orders
  v.m1 += π(cust, total > 0.00 → _x1, id → _x3)(Δorders)
  v.m2 += fold[cust](min(_x1), bit_or(_x3) · Δv.m1)
  v += π(cust, _a2 → positive, _a4 → bits)(Δv.m2)
-- case: a FILTER
-- facts: {"growing": ["orders"]}
SELECT cust, max(total) FILTER (WHERE day > DATE '2020-01-01') AS most FROM orders GROUP BY cust
-- program
view v → cust, most
  Aggregate [cust] cust, max(total) FILTER (WHERE day > 2020-01-01) AS most   monoid  (its input only grows: the state of max is kept, no rows)
    Project cust, total, day                                                  ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m2 [cust] := States[cust](max(total) FILTER (WHERE day > 2020-01-01))
  v [cust, most] := the view
on orders
  v.m1 += π(cust, if(day > 2020-01-01, total, NULL) → _x1)(Δorders)
  v.m2 += fold[cust](max(_x1) · Δv.m1)
  v += π(cust, _a2 → most)(Δv.m2)
-- case: through a join of tables that only grow
-- facts: {"growing": ["orders", "customers"]}
SELECT region, max(total) AS most FROM orders JOIN customers USING (cust) GROUP BY region
-- program
view v → region, most
  Aggregate [region] region, max(total) AS most                               monoid  (its input only grows: the state of max is kept, no rows)
    Project total, region                                                     ring
      Join inner cust = cust_2                                                ring
        Project cust, total                                                   ring
          Filter cust IS NOT NULL                                             ring
            Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
        Project cust_2, region                                                ring
          Scan customers [cust_2, name, region]
maps
  v.m1 [cust_2] := customers → cust_2, region
  v.m2 [cust] := orders → cust, total
  v.m4 [region] := States[region](max(total))
  v [region, most] := the view
on customers
  v.m1 += π(cust_2, region)(Δcustomers)
  v.m3 += π(region, total → _x1)(Δv.m1 ⋈[cust_2 = cust] v.m2)
  v.m4 += fold[region](max(_x1) · Δv.m3)
  v += π(region, _a2 → most)(Δv.m4)
on orders
  v.m2 += π(cust, total)(σ(cust IS NOT NULL)(Δorders))
  v.m3 += π(region, total → _x1)(Δv.m2 ⋈[cust = cust_2] v.m1′)
  v.m4 += fold[region](max(_x1) · Δv.m3)
  v += π(region, _a2 → most)(Δv.m4)
-- case: a join with a table that may shrink
-- facts: {"growing": ["orders"]}
SELECT region, max(total) AS most FROM orders JOIN customers USING (cust) GROUP BY region
-- program
view v → region, most
  Aggregate [region] region, max(total) AS most                               keyed  (max is not a sum; only the first rows of a group are read, in order)
    Project total, region                                                     ring
      Join inner cust = cust_2                                                ring
        Project cust, total                                                   ring
          Filter cust IS NOT NULL                                             ring
            Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
        Project cust_2, region                                                ring
          Scan customers [cust_2, name, region]
maps
  v.m1 [cust_2] := customers → cust_2, region
  v.m2 [cust] := orders → cust, total
  v.m3 [region] := Project total, region, by region
  v [_key] := Aggregate [region] region, max(total) AS most
on customers
  v.m1 += π(cust_2, region)(Δcustomers)
  v.m3 += π(total, region)(Δv.m1 ⋈[cust_2 = cust] v.m2)
  v += aggregate(the first rows of touched groups of v.m3′) − v
on orders
  v.m2 += π(cust, total)(σ(cust IS NOT NULL)(Δorders))
  v.m3 += π(total, region)(Δv.m2 ⋈[cust = cust_2] v.m1′)
  v += aggregate(the first rows of touched groups of v.m3′) − v
