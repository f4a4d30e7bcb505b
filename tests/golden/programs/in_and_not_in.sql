select id from orders where cust in (select cust from customers) and s not in (select name from customers)
-- program
view v → id
  Project id                                                                  keyed  (within the operator below)
    Join anti (s = name_2 OR (s = name_2) IS NULL)                            recompute  (anti join: a change may add or take away a row's last partner; no equality to take a key from)
      Project id, s                                                           ring
        Join semi cust = cust_2                                               ring
          Project id, cust, s                                                 ring
            Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
          Aggregate [cust_2] cust_2 AS _d1                                    ring
            Project cust_2                                                    ring
              Scan customers [cust_2, name, region]
      Project name_2                                                          ring
        Scan customers [cust_3, name_2, region_2]
maps
  v.m1 [cust_2] := Sum[cust_2](1)
  v.m2 [cust] := orders → cust, id, s
  v.m3 [] := Project id, s
  v.m4 [] := Project name_2
  v [_key] := Join anti (s = name_2 OR (s = name_2) IS NULL)
on customers
  v.m1 += Sum[cust_2](1 · Δcustomers)
  v.m3 += π(id, s)(answer[cust_2](Δv.m1) ⋈[cust_2 = cust] v.m2)
  v.m4 += π(name_2)(Δcustomers)
  v += project(all of v.m3′, v.m4′) − v
on orders
  v.m2 += π(cust, id, s)(Δorders)
  v.m3 += π(id, s)(Δv.m2 ⋈[cust = cust_2] answer(v.m1′))
  v += project(all of v.m3′, v.m4′) − v
