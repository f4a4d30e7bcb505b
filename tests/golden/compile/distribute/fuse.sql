-- case: tpch q3
-- facts: {"rows": {"lineitem": 6000000, "ord": 1500000, "cust": 150000}, "keys": {"lineitem": [0, 1], "ord": [0], "cust": [0]}}
select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate, o_shippriority from cust,
ord, lineitem where c_mktsegment = 'BUILDING' and c_custkey = o_custkey and l_orderkey = o_orderkey and
o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15' group by l_orderkey, o_orderdate,
o_shippriority
-- before
17 blocks on the partitions, 8 at the driver
-- after
3 blocks on the partitions, 2 at the driver
-- jobs
job 1
  stage 1
    Δcust                                                             anywhere
    #1 := Δcust where c_mktsegment IS NOT NULL AND c_mktsegment = 'BUILDING'  anywhere
    Δlineitem                                                         anywhere
    #3 := Δlineitem where l_shipdate IS NOT NULL AND l_shipdate > 1995-03-15 AND l_orderkey IS NOT NULL · sum(l_extendedprice * (1 - l_discount))  anywhere
    Δord                                                              anywhere
    #5 := Δord where o_orderdate IS NOT NULL AND o_orderdate < 1995-03-15 AND o_custkey IS NOT NULL  anywhere
  exchange
    #2 := repartition(#1)                                             by c_custkey
    #4 := repartition(#3)                                             by l_orderkey
    #6 := repartition(#5)                                             by o_custkey
    #10 := repartition(#3)                                            on every partition
  stage 2
    v.m1 += #2                                                        by c_custkey
    v.m2 += #4                                                        by l_orderkey
    v.m3 += #6                                                        by o_custkey
    #7 := Δv.m1 → v.m3[c_custkey = o_custkey]                         by c_custkey
    #11 := #10 → v.m3[l_orderkey = o_orderkey] → v.m1[o_custkey = c_custkey]  anywhere
    #12 := Δv.m3 → v.m1[o_custkey = c_custkey]                        by o_custkey
  exchange
    #8 := repartition(#7)                                             by o_orderkey
    #13 := repartition(#12)                                           by o_orderkey
    #15 := repartition(#11)                                           by l_orderkey
  stage 3
    #9 := #8 → v.m2[o_orderkey = l_orderkey]                          by l_orderkey
    #14 := #13 → v.m2[o_orderkey = l_orderkey]                        by l_orderkey
    v.m4 += #9 + #15 + #14                                            by l_orderkey
    #16 := changed groups of v.m4                                     by l_orderkey
    v += #16                                                          by l_orderkey
-- case: tpch q17
-- facts: {"rows": {"lineitem": 6000000, "part": 200000}, "keys": {"lineitem": [0, 1], "part": [0]}}
select sum(l_extendedprice) / 7.0 as avg_yearly from lineitem, part where p_partkey = l_partkey and p_brand =
'Brand#23' and p_container = 'MED BOX' and l_quantity < (select 0.2 * avg(l_quantity) from lineitem where
l_partkey = p_partkey)
-- before
13 blocks on the partitions, 9 at the driver
-- after
2 blocks on the partitions, 2 at the driver
-- jobs
job 1
  stage 1
    Δlineitem                                                         anywhere
    #1 := Δlineitem where l_partkey_2 IS NOT NULL · avg(l_quantity_2)  anywhere
    #4 := Δlineitem where l_partkey IS NOT NULL AND l_quantity IS NOT NULL · sum(l_extendedprice)  anywhere
    Δpart                                                             anywhere
    #6 := Δpart where p_brand IS NOT NULL AND p_container IS NOT NULL AND p_brand = 'Brand#23' AND p_container = 'MED BOX'  anywhere
  exchange
    #2 := repartition(#1)                                             by l_partkey_2
    #5 := repartition(#4)                                             by l_partkey
    #7 := repartition(#6)                                             by p_partkey
  stage 2
    v.m1 += #2                                                        by l_partkey_2
    #3 := changed groups of v.m1 where 0.2 * _a1 IS NOT NULL          by l_partkey_2
    v.m2 += #3                                                        by l_partkey_2
    v.m3 += #5                                                        by l_partkey
    v.m4 += #7                                                        by p_partkey
    #8 := Δv.m2 → v.m4[l_partkey_2 = p_partkey] → sums of v.m3[l_partkey_2 = l_partkey, _e2 < _e3]  anywhere
    #9 := Δv.m3 → v.m4[l_partkey = p_partkey] → sums of v.m2[l_partkey = l_partkey_2, _e2 < _e3]  anywhere
    #10 := Δv.m4 → v.m2[p_partkey = l_partkey_2] → sums of v.m3[l_partkey_2 = l_partkey, _e2 < _e3]  anywhere
  driver
    #11 := gather(#8)                                                 at the driver
    #12 := gather(#9)                                                 at the driver
    #13 := gather(#10)                                                at the driver
    v.m5 += #11 + #12 + #13                                           at the driver
    #14 := changed groups of v.m5                                     at the driver
    v += #14                                                          at the driver
-- case: three tables and a sum
-- facts: {"rows": {"orders": 1500000, "customers": 150000, "lineitem": 6000000, "cust": 150000, "region": 5}, "keys": {"orders": [0], "customers": [0], "lineitem": [0, 1], "cust": [0], "region": [0]}}
SELECT c.region, sum(o.total) AS total FROM orders o JOIN customers c ON o.cust = c.cust JOIN lineitem l ON l.l_orderkey = o.id GROUP BY c.region
-- before
14 blocks on the partitions, 12 at the driver
-- after
3 blocks on the partitions, 3 at the driver
-- jobs
job 1
  stage 1
    Δcustomers                                                        anywhere
    #1 := Δcustomers                                                  anywhere
    Δlineitem                                                         anywhere
    #3 := Δlineitem where l_orderkey IS NOT NULL                      anywhere
    Δorders                                                           anywhere
    #5 := Δorders where cust IS NOT NULL · sum(total)                 anywhere
  exchange
    #2 := repartition(#1)                                             by cust_2
    #4 := repartition(#3)                                             by l_orderkey
    #6 := repartition(#5)                                             by id
    #7 := repartition(#1)                                             on every partition
  stage 2
    v.m1 += #2                                                        by cust_2
    v.m2 += #4                                                        by l_orderkey
    v.m3 += #6                                                        by id
    #8 := #7 → v.m3[cust_2 = cust] → v.m2[id = l_orderkey]            anywhere
    #9 := Δv.m2 → v.m3[l_orderkey = id]                               by l_orderkey
    #12 := Δv.m3 → v.m2[id = l_orderkey]                              by id
  driver
    #10 := repartition(#9)                                            by cust
    #13 := repartition(#12)                                           by cust
    #15 := gather(#8)                                                 at the driver
  stage 3
    #11 := #10 → v.m1[cust = cust_2]                                  anywhere
    #14 := #13 → v.m1[cust = cust_2]                                  anywhere
  driver
    #16 := gather(#11)                                                at the driver
    #17 := gather(#14)                                                at the driver
    v.m4 += #15 + #16 + #17                                           at the driver
    #18 := changed groups of v.m4                                     at the driver
    v += #18                                                          at the driver
-- case: limit offset
-- facts: {"rows": {"orders": 1500000}, "keys": {"orders": [0]}}
select id, total from orders order by total desc limit 5 offset 3
-- before
4 blocks on the partitions, 6 at the driver
-- after
2 blocks on the partitions, 2 at the driver
-- jobs
job 1
  stage 1
    Δorders                                                           anywhere
    #1 := Δorders                                                     anywhere
  exchange
    #2 := repartition(#1)                                             by id
  stage 2
    v.m1 += #2                                                        by id
    #3 := Δv.m1 → the first 80 by total DESC, id, less those that drop out  by id
  driver
    #4 := gather(#3)                                                  at the driver
    #5 := the first 8 rows of v.m1 by total DESC, id                  at the driver
    v.m2 += #5                                                        at the driver
    #6 := Δv.m2 where _first1                                         at the driver
    v += #6                                                           at the driver
-- case: a filter that only Spark evaluates
-- facts: {"rows": {"orders": 1500000}, "keys": {"orders": [0]}}
SELECT id FROM orders WHERE s RLIKE '^a+$'
-- before
2 blocks on the partitions, 3 at the driver
-- after
2 blocks on the partitions, 1 at the driver
-- jobs
job 1
  stage 1
    Δorders                                                           anywhere
  driver
    #1 := gather(Δorders)                                             at the driver
    #2 := #1 → on Spark: Filter s IS NOT NULL AND RLIKE(s, ^a+$)      at the driver
    #3 := scatter(#2)                                                 by id
job 2
  stage 2
    v += #3                                                           by id
