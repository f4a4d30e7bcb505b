-- case: a star
-- facts: {"rows": {"lineitem": 6000000, "ord": 1500000, "part": 200000, "supplier": 10000}, "keys": {"lineitem": [0, 1], "ord": [0], "part": [0], "supplier": [0]}}
SELECT count(*) AS n FROM lineitem JOIN part ON l_partkey = p_partkey JOIN supplier ON l_suppkey = s_suppkey JOIN ord ON l_orderkey = o_orderkey
-- places
  v.m1                                                                by l_orderkey
  v.m2                                                                by o_orderkey
  v.m3                                                                by p_partkey
  v.m4                                                                on every partition
  v.m5                                                                at the driver
  v                                                                   at the driver
-- terms
v.m1 += Δlineitem → Filter → Project
  1 moves, 0 of them to every partition; 0 look-ups before their turn
v.m2 += Δord → Project
  1 moves, 0 of them to every partition; 0 look-ups before their turn
v.m3 += Δpart → Project
  1 moves, 0 of them to every partition; 0 look-ups before their turn
v.m4 += Δsupplier → Project
  1 moves, 1 of them to every partition; 0 look-ups before their turn
v.m5 += Δv.m1 → v.m4 → partitioned → v.m2 → partitioned → v.m3 → Project → Combine
  3 moves, 0 of them to every partition; 2 look-ups before their turn
v.m5 += Δv.m2 → partitioned → v.m1 → v.m4 → partitioned → v.m3 → Project → Combine
  3 moves, 0 of them to every partition; 1 look-ups before their turn
v.m5 += Δv.m3 → replicated → v.m1 → v.m2 → v.m4 → Project → Combine
  2 moves, 1 of them to every partition; 0 look-ups before their turn
v.m5 += Δv.m4 → replicated → v.m1 → v.m2 → partitioned → v.m3 → Project → Combine
  3 moves, 1 of them to every partition; 0 look-ups before their turn
v += Δv.m5 → Project
  1 moves, 0 of them to every partition; 0 look-ups before their turn
-- case: a chain
-- facts: {"rows": {"supplier": 10000, "nation": 25, "region": 5}, "keys": {"supplier": [0], "nation": [0], "region": [0]}}
SELECT r_name, s_name FROM region JOIN nation ON r_regionkey = n_regionkey JOIN supplier ON s_nationkey = n_nationkey
-- places
  v.m1                                                                at the driver
  v.m2                                                                at the driver
  v.m3                                                                at the driver
  v                                                                   at the driver
-- terms
v.m1 += Δnation → Filter → Project
  1 moves, 0 of them to every partition; 0 look-ups before their turn
v.m2 += Δregion → Project
  1 moves, 0 of them to every partition; 0 look-ups before their turn
v.m3 += Δsupplier → Filter → Project
  1 moves, 0 of them to every partition; 0 look-ups before their turn
v += Δv.m1 → local → v.m2 → v.m3 → Project
  1 moves, 0 of them to every partition; 0 look-ups before their turn
v += Δv.m2 → local → v.m1 → v.m3 → Project
  1 moves, 0 of them to every partition; 0 look-ups before their turn
v += Δv.m3 → local → v.m1 → v.m2 → Project
  1 moves, 0 of them to every partition; 0 look-ups before their turn
-- case: a range row by row
-- facts: {"rows": {"orders": 1500000, "customers": 150000, "cust": 150000}, "keys": {"orders": [0], "customers": [0], "cust": [0]}}
SELECT a.id, b.name FROM orders a JOIN customers b ON a.cust < b.cust
-- places
  v.m1                                                                by cust_2
  v.m2                                                                by id
  v                                                                   by id
-- terms
v.m1 += Δcustomers → Project
  1 moves, 0 of them to every partition; 0 look-ups before their turn
v.m2 += Δorders → Filter → Project
  1 moves, 0 of them to every partition; 0 look-ups before their turn
v += Δv.m1 → replicated → v.m2 → Project
  1 moves, 1 of them to every partition; 0 look-ups before their turn
v += Δv.m2 → replicated → v.m1 → Project
  2 moves, 1 of them to every partition; 0 look-ups before their turn
-- case: a range that is added up
-- facts: {"rows": {"orders": 1500000, "customers": 150000, "cust": 150000}, "keys": {"orders": [0], "customers": [0], "cust": [0]}}
SELECT sum(a.total) AS total FROM orders a JOIN customers b ON a.cust < b.cust
-- places
  v.m1                                                                by cust_2
  v.m2                                                                on every partition
  v.m3                                                                at the driver
  v                                                                   at the driver
-- terms
v.m1 += Δcustomers → Project
  1 moves, 0 of them to every partition; 0 look-ups before their turn
v.m2 += Δorders → Filter → Project → GroupSums
  1 moves, 1 of them to every partition; 0 look-ups before their turn
v.m3 += Δv.m1 → v.m2 → Project → Combine
  1 moves, 0 of them to every partition; 0 look-ups before their turn
v.m3 += Δv.m2 → replicated → v.m1 → Project → Combine
  2 moves, 1 of them to every partition; 0 look-ups before their turn
v += Δv.m3 → Project
  1 moves, 0 of them to every partition; 0 look-ups before their turn
