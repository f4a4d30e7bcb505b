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
  v.m3 += π(id, cust, s)(answer[cust_2](Δv.m1) ⋈[cust_2 = cust] v.m2)
  v.m4 += Sum[name_2](1 · Δcustomers)
  v.m5 += π(s, id)(σ(s IS NOT NULL)(Δv.m3))
  v.m6 += π(id, s)(σ(s IS NOT NULL)(Δv.m3))
  v.m6 += π(id, s)(−(answer[name_2](Δv.m4) ⋈[name_2 = s] v.m5))
  v.m6 += π(id, s)(−(Δv.m5 ⋈[s = name_2] answer(v.m4′)))
  v.m7 += Sum[_in_right](1 · π(1 → _in_right)(σ(name_2 IS NULL)(Δcustomers)))
  v.m8 += Sum[_in_right](1 · π(1 → _in_right)(Δcustomers))
  v.m9 += π()(σ(1 = _k8)(answer[_in_right](Δv.m7)))
  v.m10 += π(id)(Δv.m6)
  v.m11 += π()(σ(1 = _k13)(answer[_in_right](Δv.m8)))
  v.m12 += π(id)(σ(s IS NULL)(Δv.m3))
  v += π(id)(Δv.m6)
  v += π(id)(−(Δv.m9 ⋈[×] v.m10))
  v += π(id)(−(Δv.m10 ⋈[×] v.m9′))
  v += π(id)(σ(s IS NULL)(Δv.m3))
  v += π(id)(−(Δv.m11 ⋈[×] v.m12))
  v += π(id)(−(Δv.m12 ⋈[×] v.m11′))
on orders
  v.m2 += π(cust, id, s)(Δorders)
  v.m3 += π(id, cust, s)(Δv.m2 ⋈[cust = cust_2] answer(v.m1′))
  v.m5 += π(s, id)(σ(s IS NOT NULL)(Δv.m3))
  v.m6 += π(id, s)(σ(s IS NOT NULL)(Δv.m3))
  v.m6 += π(id, s)(−(Δv.m5 ⋈[s = name_2] answer(v.m4′)))
  v.m10 += π(id)(Δv.m6)
  v.m12 += π(id)(σ(s IS NULL)(Δv.m3))
  v += π(id)(Δv.m6)
  v += π(id)(−(Δv.m10 ⋈[×] v.m9′))
  v += π(id)(σ(s IS NULL)(Δv.m3))
  v += π(id)(−(Δv.m12 ⋈[×] v.m11′))
