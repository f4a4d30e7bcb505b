-- case: sums that only Spark can make
SELECT cust, sum(total) AS total FROM orders WHERE id > 3 GROUP BY cust
-- program
view v → cust, total
  Aggregate [cust] cust, sum(total) AS total_2                                recompute  (nothing is evaluated here; its key cannot be indexed: nothing is evaluated here; on Spark: nothing is evaluated here)
    Project cust, total                                                       ring  (on Spark: nothing is evaluated here)
      Filter id > 3                                                           ring  (on Spark: nothing is evaluated here)
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [] := Project cust, total
  v [_key] := Aggregate [cust] cust, sum(total) AS total_2
on orders
  v.m1 += spark⟨Project cust, total⟩(spark⟨Filter id > 3⟩(Δorders))
  v += aggregate(all of v.m1′) on Spark − v
-- case: a join that only Spark can make
SELECT o.id, c.name FROM orders o JOIN customers c ON o.cust = c.cust
-- program
view v → id, name
  Project id, name                                                            ring  (on Spark: nothing is evaluated here)
    Join inner cust = cust_2                                                  recompute  (nothing is evaluated here; its key cannot be indexed: nothing is evaluated here; on Spark: nothing is evaluated here)
      Project id, cust                                                        ring  (on Spark: nothing is evaluated here)
        Filter cust IS NOT NULL                                               ring  (on Spark: nothing is evaluated here)
          Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
      Project cust_2, name                                                    ring  (on Spark: nothing is evaluated here)
        Scan customers [cust_2, name, region]
maps
  v.m1 [] := Project id, cust
  v.m2 [] := Project cust_2, name
  v.m3 [_key] := Join inner cust = cust_2
  v [id, name] := the view
on orders
  v.m1 += spark⟨Project id, cust⟩(spark⟨Filter cust IS NOT NULL⟩(Δorders))
  v.m3 += join(all of v.m1′, v.m2′) on Spark − v.m3
  v += spark⟨Project id, name⟩(Δv.m3)
on customers
  v.m2 += spark⟨Project cust_2, name⟩(Δcustomers)
  v.m3 += join(all of v.m1′, v.m2′) on Spark − v.m3
  v += spark⟨Project id, name⟩(Δv.m3)
