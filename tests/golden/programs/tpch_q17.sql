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
  v.m2 [l_partkey_2] := Aggregate [l_partkey_2] 0.2 * avg(l_quantity_2) AS `(0.2 * avg(l_quantity))`, l_partkey_2 → _e3, l_partkey_2
  v.m3 [l_partkey] := Sum[_e2, l_partkey](lineitem)
  v.m4 [p_partkey] := part → p_partkey
  v.m5 [] := Sum[](sum(l_extendedprice))
  v [avg_yearly] := the view
on lineitem
  v.m1 += Sum[l_partkey_2](avg(_x0) · σ(l_partkey_2 IS NOT NULL)(Δlineitem))
  v.m2 += π(0.2 * _a1 → _e3, l_partkey_2)(σ(0.2 * _a1 IS NOT NULL)(answer[l_partkey_2](Δv.m1)))
  v.m3 += Sum[_e2, l_partkey](sum(_x5) · π(cast(l_quantity AS decimal(18,7)) → _e2, l_partkey, l_extendedprice → _x5)(σ(l_partkey IS NOT NULL AND l_quantity IS NOT NULL)(Δlineitem)))
  v.m5 += Sum[](_a0 = _w4·_s6·_w8, _a0_n = _w4·_s6_n·_w8 · π(_e3, l_partkey_2, _w4, _s6_0, _s6_1, _s6_n, _w7, l_partkey_2 → l_partkey)(Δv.m2 ⋈[l_partkey_2 = l_partkey, _e2 < _e3] Sum v.m3) ⋈[l_partkey_2 = p_partkey] v.m4)
  v.m5 += Sum[](_a0 = _s6·_w4·_w8, _a0_n = _s6_n·_w4·_w8 · π(_e2, l_partkey, _s6_0, _s6_1, _s6_n, _w7, _w4, l_partkey → l_partkey_2)(Δv.m3 ⋈[l_partkey = l_partkey_2, _e2 < _e3] Sum v.m2′) ⋈[l_partkey_2 = p_partkey] v.m4)
  v += π(_a9 / 7.0 → avg_yearly)(answer[](Δv.m5))
on part
  v.m4 += π(p_partkey)(σ(p_brand IS NOT NULL AND p_container IS NOT NULL AND p_brand = 'Brand#23' AND p_container = 'MED BOX')(Δpart))
  v.m5 += Sum[](_a0 = _w8·_w4·_s6, _a0_n = _w8·_w4·_s6_n · Δv.m4 ⋈[p_partkey = l_partkey_2] v.m2′ ⋈[l_partkey_2 = l_partkey, _e2 < _e3] Sum v.m3′)
  v += π(_a9 / 7.0 → avg_yearly)(answer[](Δv.m5))
weighed
  lineitem ⋈ lineitem as one map: saves 283, costs 1,383 rows per 100 changed: not kept
