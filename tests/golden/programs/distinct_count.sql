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
  v.m2 += Sum[_d0](count(_x0) · answer[region, name](Δv.m1))
  v += π(_k1 → region, _a2 → names)(answer[_d0](Δv.m2))
