select a.id, b.name from orders a full outer join customers b on a.cust = b.cust and b.region = 'x'
-- program
view v → id, name
  Project id, name                                                            keyed  (within the operator below)
    Join full cust = cust_2 AND region = 'x'                                  keyed  (full join: a change may add or take away a row's last partner)
      Project id, cust                                                        ring
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
      Scan customers [cust_2, name, region]
maps
  v.m1 [cust] := Project id, cust, by cust
  v.m2 [cust_2] := Scan customers [cust_2, name, region], by cust_2
  v [_key] := Join full cust = cust_2 AND region = 'x'
on orders
  v.m1 += π(id, cust)(Δorders)
  v += project(touched groups of v.m1′, v.m2′) − v
on customers
  v.m2 += Δcustomers
  v += project(touched groups of v.m1′, v.m2′) − v
