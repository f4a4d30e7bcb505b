-- case: a difference beside a constant
SELECT sum(a.d) AS n FROM orders a JOIN orders b ON a.d - b.d > 1
-- clauses
where d IS NOT NULL AND d_2 IS NOT NULL AND finite_difference(d - d_2 > 1.0) AND d_2 > -inf AND d_2 < inf AND d > -inf AND d < inf
where d IS NOT NULL AND d_2 IS NOT NULL AND d - d_2 > 1.0 AND d_2 > -inf AND d_2 < inf AND NOT (d > -inf AND d < inf)
where d IS NOT NULL AND d_2 IS NOT NULL AND d - d_2 > 1.0 AND NOT (d_2 > -inf AND d_2 < inf) AND d > -inf AND d < inf
where d IS NOT NULL AND d_2 IS NOT NULL AND d - d_2 > 1.0 AND NOT (d_2 > -inf AND d_2 < inf) AND NOT (d > -inf AND d < inf)
-- program
view v → n
  Aggregate [] sum(d) AS n                                                    ring
    Project d                                                                 ring
      Join inner d - d_2 > 1.0                                                ring  (no equality connects the sides)
        Project d                                                             ring
          Filter d IS NOT NULL                                                ring
            Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
        Project d_2                                                           ring
          Filter d_2 IS NOT NULL                                              ring
            Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
maps
  v.m1 [] := Sum[d, _v3](orders)
  v.m2 [] := orders → d_2
  v.m3 [] := orders → d
  v.m4 [] := Sum[](sum(d))
  v [n] := the view
on orders
  v.m1 += Sum[d](sum(_x1) · σ(d IS NOT NULL AND d > -inf AND d < inf)(Δorders))
  v.m2 += π(d_2)(σ(d_2 IS NOT NULL AND d_2 > -inf AND d_2 < inf)(Δorders))
  v.m3 += π(d)(σ(d IS NOT NULL AND NOT (d > -inf AND d < inf))(Δorders))
  v.m4 += Sum[](_a0 = _s2·_w5, _a0_n = _s2_n·_w5 · π(d, _v3, _s2_0, _s2_1, _s2_2, _s2_3, _s2_n, _w4, greatest_exceeded(d, 1.0) → _b6)(Δv.m1) ⋈[d_2 ≤ _b6] Sum v.m2)
  v.m4 += Sum[](_a0 = _w5·_s2, _a0_n = _w5·_s2_n · π(d_2, _w5, least_exceeding(d_2, 1.0) → _b7)(Δv.m2) ⋈[_b7 ≤ d] Sum v.m1′)
  v.m4 += Sum[](sum(_x0) · σ(d - d_2 > 1.0)(Δv.m3 ⋈[×] v.m2))
  v.m4 += Sum[](sum(_x0) · σ(d - d_2 > 1.0)(Δv.m2 ⋈[×] v.m3′))
  v.m4 += Sum[](sum(_x0) · σ(d - d_2 > 1.0)(Δv.m2 ⋈[×] v.m3))
  v.m4 += Sum[](sum(_x0) · σ(d - d_2 > 1.0)(Δv.m3 ⋈[×] v.m2′))
  v.m4 += Sum[](sum(_x0) · σ(d - d_2 > 1.0)(Δv.m3 ⋈[×] v.m3))
  v.m4 += Sum[](sum(_x0) · σ(d - d_2 > 1.0)(Δv.m3 ⋈[×] v.m3′))
  v += π(_a20 → n)(finalize[](Δv.m4))
-- case: a disjunction that excludes itself
SELECT a.cust, sum(a.d - b.d) AS n FROM orders a JOIN orders b ON a.cust = b.cust AND (a.d - b.d >= 10 OR b.d - a.d >= 10) GROUP BY a.cust
-- clauses
where cust IS NOT NULL AND cust_2 IS NOT NULL AND cust = cust_2 AND finite_difference(d - d_2 >= 10.0) OR finite_difference(d_2 - d >= 10.0) AND d_2 > -inf AND d_2 < inf AND d > -inf AND d < inf
where cust IS NOT NULL AND cust_2 IS NOT NULL AND cust = cust_2 AND d - d_2 >= 10.0 OR d_2 - d >= 10.0 AND d_2 > -inf AND d_2 < inf AND NOT (d > -inf AND d < inf)
where cust IS NOT NULL AND cust_2 IS NOT NULL AND cust = cust_2 AND d - d_2 >= 10.0 OR d_2 - d >= 10.0 AND NOT (d_2 > -inf AND d_2 < inf) AND d > -inf AND d < inf
where cust IS NOT NULL AND cust_2 IS NOT NULL AND cust = cust_2 AND d - d_2 >= 10.0 OR d_2 - d >= 10.0 AND NOT (d_2 > -inf AND d_2 < inf) AND NOT (d > -inf AND d < inf)
-- program
view v → cust, n
  Aggregate [cust] cust, sum(d - d_2) AS n                                    ring
    Project cust, d, d_2                                                      ring
      Join inner cust = cust_2 AND (d - d_2 >= 10.0 OR d_2 - d >= 10.0)       ring
        Project cust, d                                                       ring
          Filter cust IS NOT NULL                                             ring
            Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
        Project cust_2, d_2                                                   ring
          Filter cust_2 IS NOT NULL                                           ring
            Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
maps
  v.m1 [cust] := Sum[cust, d, _v3](orders)
  v.m2 [cust] := Sum[cust, d, _v23](orders)
  v.m3 [cust] := Sum[cust](sum(d - d_2))
  v [cust, n] := the view
on orders
  v.m1 += Sum[cust, d](sum(_x1) · σ(cust IS NOT NULL AND d > -inf AND d < inf)(Δorders))
  v.m2 += Sum[cust, d](sum(_x21) · σ(cust IS NOT NULL AND NOT (d > -inf AND d < inf))(Δorders))
  v.m3 += Sum[cust](_a0 = _s2·_s6_n + -1·_s2_n·_s6, _a0_n = _s2_n·_s6_n · π(cust, d, _v3, _s2_0, _s2_1, _s2_2, _s2_3, _s2_n, _w4, greatest_reached(d, 10.0) → _b9)(Δv.m1) ⋈[cust, d ≤ _b9] Sum v.m1)
  v.m3 += Sum[cust](_a0 = _s6_n·_s2 + -1·_s6·_s2_n, _a0_n = _s6_n·_s2_n · π(cust_2, d_2, _v7, _s6_0, _s6_1, _s6_2, _s6_3, _s6_n, _w8, least_reaching(d_2, 10.0) → _b10)(Δv.m1) ⋈[cust_2 = cust, _b10 ≤ d] Sum v.m1′)
  v.m3 += Sum[cust](_a0 = _s12·_s16_n + -1·_s12_n·_s16, _a0_n = _s12_n·_s16_n · π(cust, d, _v13, _s12_0, _s12_1, _s12_2, _s12_3, _s12_n, _w14, least_reaching(d, 10.0) → _b19)(Δv.m1) ⋈[cust, _b19 ≤ d] Sum v.m1)
  v.m3 += Sum[cust](_a0 = _s16_n·_s12 + -1·_s16·_s12_n, _a0_n = _s16_n·_s12_n · π(cust_2, d_2, _v17, _s16_0, _s16_1, _s16_2, _s16_3, _s16_n, _w18, greatest_reached(d_2, 10.0) → _b20)(Δv.m1) ⋈[cust_2 = cust, d ≤ _b20] Sum v.m1′)
  v.m3 += Sum[cust](_a0 = _s22·_s26_n + -1·_s22_n·_s26, _a0_n = _s22_n·_s26_n · σ(d - d_2 >= 10.0 OR d_2 - d >= 10.0)(Δv.m2 ⋈[cust] v.m1))
  v.m3 += Sum[cust](_a0 = _s26_n·_s22 + -1·_s26·_s22_n, _a0_n = _s26_n·_s22_n · σ(d - d_2 >= 10.0 OR d_2 - d >= 10.0)(Δv.m1 ⋈[cust_2 = cust] v.m2′))
  v.m3 += Sum[cust](_a0 = _s30·_s34_n + -1·_s30_n·_s34, _a0_n = _s30_n·_s34_n · σ(d - d_2 >= 10.0 OR d_2 - d >= 10.0)(Δv.m1 ⋈[cust] v.m2))
  v.m3 += Sum[cust](_a0 = _s34_n·_s30 + -1·_s34·_s30_n, _a0_n = _s34_n·_s30_n · σ(d - d_2 >= 10.0 OR d_2 - d >= 10.0)(Δv.m2 ⋈[cust_2 = cust] v.m1′))
  v.m3 += Sum[cust](_a0 = _s38·_s42_n + -1·_s38_n·_s42, _a0_n = _s38_n·_s42_n · σ(d - d_2 >= 10.0 OR d_2 - d >= 10.0)(Δv.m2 ⋈[cust] v.m2))
  v.m3 += Sum[cust](_a0 = _s42_n·_s38 + -1·_s42·_s38_n, _a0_n = _s42_n·_s38_n · σ(d - d_2 >= 10.0 OR d_2 - d >= 10.0)(Δv.m2 ⋈[cust_2 = cust] v.m2′))
  v += π(cust, _a45 → n)(finalize[cust](Δv.m3))
-- case: a difference beside a column
SELECT sum(a.d) AS n FROM orders a JOIN orders b ON a.d - b.d > a.total
-- clauses
where d IS NOT NULL AND total IS NOT NULL AND d_2 IS NOT NULL AND d - d_2 > cast(total AS double)
-- program
view v → n
  Aggregate [] sum(d) AS n                                                    ring
    Project d                                                                 ring
      Join inner d - d_2 > cast(total AS double)                              ring  (no equality connects the sides)
        Project total, d                                                      ring
          Filter d IS NOT NULL AND total IS NOT NULL                          ring
            Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
        Project d_2                                                           ring
          Filter d_2 IS NOT NULL                                              ring
            Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
maps
  v.m1 [] := orders → d, _e4
  v.m2 [] := orders → d_2
  v.m3 [] := Sum[](sum(d))
  v [n] := the view
on orders
  v.m1 += π(d, cast(total AS double) → _e4)(σ(d IS NOT NULL AND total IS NOT NULL)(Δorders))
  v.m2 += π(d_2)(σ(d_2 IS NOT NULL)(Δorders))
  v.m3 += Sum[](sum(_x0) · σ(d - d_2 > _e4)(Δv.m1 ⋈[×] v.m2))
  v.m3 += Sum[](sum(_x0) · σ(d - d_2 > _e4)(Δv.m2 ⋈[×] v.m1′))
  v += π(_a7 → n)(finalize[](Δv.m3))
