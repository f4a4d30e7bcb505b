-- case: an outer join with more than equalities
SELECT c.name, o.id FROM customers c LEFT JOIN orders o ON c.cust = o.cust AND (o.total > 5 OR c.region = 'x')
-- program
view v → name, id
  Project name, id                                                            keyed  (evaluated within the operator below)
    Join left cust = cust_2 AND (total > 5.00 OR region = 'x')                keyed  (left join: a change may add a row's first partner, or remove its last)
      Scan customers [cust, name, region]
      Project id, cust_2, total                                               ring
        Filter cust_2 IS NOT NULL                                             ring
          Scan orders [id, cust_2, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [cust] := Scan customers [cust, name, region], by cust
  v.m2 [cust_2] := Project id, cust_2, total, by cust_2
  v [_key] := Join left cust = cust_2 AND (total > 5.00 OR region = 'x')
on customers
  v.m1 += Δcustomers
  v += project(touched groups of v.m1′, v.m2′) − v
on orders
  v.m2 += π(id, cust_2, total)(σ(cust_2 IS NOT NULL)(Δorders))
  v += project(touched groups of v.m1′, v.m2′) − v
-- case: an outer join without an equality
SELECT c.name, o.id FROM customers c LEFT JOIN orders o ON c.cust < o.cust AND c.name < o.s
-- program
view v → name, id
  Project name, id                                                            keyed  (evaluated within the operator below)
    Join left cust < cust_2 AND name < s                                      recompute  (left join: a change may add a row's first partner, or remove its last; no equality provides a key)
      Project cust, name                                                      ring
        Scan customers [cust, name, region]
      Project id, cust_2, s                                                   ring
        Filter cust_2 IS NOT NULL AND s IS NOT NULL                           ring
          Scan orders [id, cust_2, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [] := Project cust, name
  v.m2 [] := Project id, cust_2, s
  v [_key] := Join left cust < cust_2 AND name < s
on customers
  v.m1 += π(cust, name)(Δcustomers)
  v += project(all of v.m1′, v.m2′) − v
on orders
  v.m2 += π(id, cust_2, s)(σ(cust_2 IS NOT NULL AND s IS NOT NULL)(Δorders))
  v += project(all of v.m1′, v.m2′) − v
-- case: a condition that only Spark evaluates
SELECT c.name, o.id FROM customers c JOIN orders o ON c.cust = o.cust AND concat(o.s, c.name) RLIKE 'x'
-- program
view v → name, id
  Project name, id                                                            ring
    Join inner cust = cust_2 AND RLIKE(concat(s, name), x)                    keyed  (`RLIKE(concat(s, name), x)` is evaluated by Spark alone; on Spark: `RLIKE(concat(s, name), x)` is evaluated by Spark alone)
      Project cust, name                                                      ring
        Scan customers [cust, name, region]
      Project id, cust_2, s                                                   ring
        Filter cust_2 IS NOT NULL                                             ring
          Scan orders [id, cust_2, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [cust] := Project cust, name, by cust
  v.m2 [cust_2] := Project id, cust_2, s, by cust_2
  v.m3 [_key] := Join inner cust = cust_2 AND RLIKE(concat(s, name), x)
  v [name, id] := the view
on customers
  v.m1 += π(cust, name)(Δcustomers)
  v.m3 += join(touched groups of v.m1′, v.m2′) on Spark − v.m3
  v += π(name, id)(Δv.m3)
on orders
  v.m2 += π(id, cust_2, s)(σ(cust_2 IS NOT NULL)(Δorders))
  v.m3 += join(touched groups of v.m1′, v.m2′) on Spark − v.m3
  v += π(name, id)(Δv.m3)
-- case: a condition that can fail
SELECT c.name, o.id FROM customers c JOIN orders o ON c.cust = o.cust AND o.id / c.cust > 2
-- program
view v → name, id
  Project name, id                                                            ring
    Filter cast(id AS double) / cast(cust AS double) > 2.0                    ring
      Join inner cust = cust_2                                                ring
        Project cust, name                                                    ring
          Scan customers [cust, name, region]
        Project id, cust_2                                                    ring
          Filter cust_2 IS NOT NULL AND cast(id AS double) / cast(cust_2 AS double) > 2.0  ring
            Scan orders [id, cust_2, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [cust] := customers → cust, name
  v.m2 [cust_2] := Filter cust_2 IS NOT NULL AND cast(id AS double) / cast(cust_2 AS double) > 2.0 → cust_2, id
  v [name, id] := the view
on customers
  v.m1 += π(cust, name)(Δcustomers)
  v.m3 += π(cust, name, id, cust_2)(Δv.m1 ⋈[cust = cust_2] v.m2)
  v += π(name, id)(σ(cast(id AS double) / cast(cust AS double) > 2.0)(Δv.m3))
on orders
  v.m2 += π(cust_2, id)(σ(cust_2 IS NOT NULL AND cast(id AS double) / cast(cust_2 AS double) > 2.0)(Δorders))
  v.m3 += π(cust, name, id, cust_2)(Δv.m2 ⋈[cust_2 = cust] v.m1′)
  v += π(name, id)(σ(cast(id AS double) / cast(cust AS double) > 2.0)(Δv.m3))
