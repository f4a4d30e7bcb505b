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
  v += π(id, NULL → name)(−(answer[cust_2](Δv.m1) ⋈[cust_2 = cust] v.m4))
  v += π(NULL → id, name)(Δcustomers)
  v += π(NULL → id, name)(−(Δv.m3 ⋈[cust_2 = cust] answer(v.m2′)))
on orders
  v.m2 += Sum[cust](1 · Δorders)
  v.m4 += π(cust, id)(Δorders)
  v += π(id, name)(Δv.m4 ⋈[cust = cust_2] v.m3′)
  v += π(id, NULL → name)(Δorders)
  v += π(id, NULL → name)(−(Δv.m4 ⋈[cust = cust_2] answer(v.m1′)))
  v += π(NULL → id, name)(−(answer[cust](Δv.m2) ⋈[cust = cust_2] v.m3))
