select id from orders where cust in (select cust from customers) and s not in (select name from customers)
-- program
view v → id
  Project id                                                                  keyed  (within the operator below)
    Join anti (s = name_2 OR (s = name_2) IS NULL)                            recompute  (anti join: a change may add or take away a row's last partner; no equality to take a key from)
      Project id, s                                                           keyed  (within the operator below)
        Join semi cust = cust_2                                               keyed  (semi join: a change may add or take away a row's last partner)
          Project id, cust, s                                                 ring
            Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
          Project cust_2                                                      ring
            Scan customers [cust_2, name, region]
      Project name_2                                                          ring
        Scan customers [cust_3, name_2, region_2]
maps
  v.m1 [cust] := Project id, cust, s, by cust
  v.m2 [cust_2] := Project cust_2, by cust_2
  v.m3 [_key] := Join semi cust = cust_2
  v.m4 [] := Project name_2
  v [_key] := Join anti (s = name_2 OR (s = name_2) IS NULL)
on orders
  v.m1 += π(id, cust, s)(Δorders)
  v.m3 += project(touched groups of v.m1′, v.m2′) − v.m3
  v += project(all of v.m3′, v.m4′) − v
on customers
  v.m2 += π(cust_2)(Δcustomers)
  v.m3 += project(touched groups of v.m1′, v.m2′) − v.m3
  v.m4 += π(name_2)(Δcustomers)
  v += project(all of v.m3′, v.m4′) − v
