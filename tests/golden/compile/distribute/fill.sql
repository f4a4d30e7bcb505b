-- case: tpch q3
-- facts: {"rows": {"lineitem": 6000000, "ord": 1500000, "cust": 150000}, "keys": {"lineitem": [0, 1], "ord": [0], "cust": [0]}}
select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate, o_shippriority from cust,
ord, lineitem where c_mktsegment = 'BUILDING' and c_custkey = o_custkey and l_orderkey = o_orderkey and
o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15' group by l_orderkey, o_orderdate,
o_shippriority
-- rows at most
lineitem: 6,000,000
ord: 1,500,000
cust: 150,000
v.m1: 150,000
v.m2: 6,000,000
v.m3: 1,500,000
v.m4: 22,950,000
v: 22,950,000
-- terms, 2 left out
v.m1 += Δcust
v.m2 += Δlineitem
v.m3 += Δord
v.m4 += Δv.m1 → v.m3 (new) → v.m2 (new)
v += Δv.m4
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
    #6 := repartition(#5)                                             by o_orderkey
    #7 := repartition(#1)                                             on every partition
  stage 2
    v.m1 += #2                                                        by c_custkey
    v.m2 += #4                                                        by l_orderkey
    v.m3 += #6                                                        by o_orderkey
    #8 := #7 → v.m3[c_custkey = o_custkey] → v.m2[o_orderkey = l_orderkey]  by l_orderkey
    v.m4 += #8                                                        by l_orderkey
    #9 := changed groups of v.m4                                      by l_orderkey
    v += #9                                                           by l_orderkey
-- case: tpch q17
-- facts: {"rows": {"lineitem": 6000000, "part": 200000}, "keys": {"lineitem": [0, 1], "part": [0]}}
select sum(l_extendedprice) / 7.0 as avg_yearly from lineitem, part where p_partkey = l_partkey and p_brand =
'Brand#23' and p_container = 'MED BOX' and l_quantity < (select 0.2 * avg(l_quantity) from lineitem where
l_partkey = p_partkey)
-- rows at most
lineitem: 6,000,000
part: 200,000
v.m1: 6,000,000
v.m2: 6,000,000
v.m3: 6,000,000
v.m4: 200,000
v.m5: 3
v: 3
-- terms, 2 left out
v.m1 += Δlineitem
v.m2 += Δv.m1
v.m3 += Δlineitem
v.m4 += Δpart
v.m5 += Δv.m4 → v.m2 (new) → v.m3 (new)
v += Δv.m5
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
    #8 := Δv.m4 → v.m2[p_partkey = l_partkey_2] → sums of v.m3[l_partkey_2 = l_partkey, _e2 < _e3]  anywhere
  driver
    #9 := gather(#8)                                                  at the driver
    v.m5 += #9                                                        at the driver
    #10 := changed groups of v.m5                                     at the driver
    v += #10                                                          at the driver
-- case: limit offset
-- facts: {"rows": {"orders": 1500000}, "keys": {"orders": [0]}}
select id, total from orders order by total desc limit 5 offset 3
-- rows at most
orders: 1,500,000
v.m1: 1,500,000
v.m2: 80
v: 80
-- terms, 0 left out
v.m1 += Δorders
v.m2 += Δv.m1
v += Δv.m2
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
-- case: union all
-- facts: {"rows": {"orders": 1500000, "customers": 150000, "cust": 150000}, "keys": {"orders": [0], "customers": [0], "cust": [0]}}
select id from orders union all select cust from customers
-- rows at most
orders: 1,500,000
customers: 150,000
cust: 150,000
v: 1,650,000
-- terms, 0 left out
v += Δorders
v += Δcustomers
-- jobs
job 1
  stage 1
    Δorders                                                           anywhere
    #1 := Δorders                                                     anywhere
    Δcustomers                                                        anywhere
    #2 := Δcustomers                                                  anywhere
  exchange
    #3 := repartition(#1)                                             by id_2
    #4 := repartition(#2)                                             by id_2
  stage 2
    v += #3 + #4                                                      by id_2
-- case: a star
-- facts: {"rows": {"lineitem": 6000000, "ord": 1500000, "part": 200000, "supplier": 10000}, "keys": {"lineitem": [0, 1], "ord": [0], "part": [0], "supplier": [0]}}
SELECT count(*) AS n FROM lineitem JOIN part ON l_partkey = p_partkey JOIN supplier ON l_suppkey = s_suppkey JOIN ord ON l_orderkey = o_orderkey
-- rows at most
lineitem: 6,000,000
ord: 1,500,000
part: 200,000
supplier: 10,000
v.m1: 6,000,000
v.m2: 1,500,000
v.m3: 200,000
v.m4: 10,000
v.m5: 4
v: 4
-- terms, 3 left out
v.m1 += Δlineitem
v.m2 += Δord
v.m3 += Δpart
v.m4 += Δsupplier
v.m5 += Δv.m4 → v.m1 (new) → v.m2 (new) → v.m3 (new)
v += Δv.m5
-- jobs
job 1
  stage 1
    Δlineitem                                                         anywhere
    #1 := Δlineitem where l_partkey IS NOT NULL AND l_suppkey IS NOT NULL AND l_orderkey IS NOT NULL  anywhere
    Δord                                                              anywhere
    #3 := Δord                                                        anywhere
    Δpart                                                             anywhere
    #5 := Δpart                                                       anywhere
    Δsupplier                                                         anywhere
    #7 := Δsupplier                                                   anywhere
  exchange
    #2 := repartition(#1)                                             by l_orderkey
    #4 := repartition(#3)                                             by o_orderkey
    #6 := repartition(#5)                                             by p_partkey
    #8 := repartition(#7)                                             on every partition
  stage 2
    v.m1 += #2                                                        by l_orderkey
    v.m2 += #4                                                        by o_orderkey
    v.m3 += #6                                                        by p_partkey
    v.m4 += #8                                                        on every partition
    #9 := Δv.m4 → v.m1[s_suppkey = l_suppkey] → v.m2[l_orderkey = o_orderkey]  by l_orderkey
  exchange
    #10 := repartition(#9)                                            by l_partkey
  stage 3
    #11 := #10 → v.m3[l_partkey = p_partkey]                          anywhere
  driver
    #12 := gather(#11)                                                at the driver
    v.m5 += #12                                                       at the driver
    #13 := changed groups of v.m5                                     at the driver
    v += #13                                                          at the driver
-- case: a range that is added up
-- facts: {"rows": {"orders": 1500000, "customers": 150000, "cust": 150000}, "keys": {"orders": [0], "customers": [0], "cust": [0]}}
SELECT sum(a.total) AS total FROM orders a JOIN customers b ON a.cust < b.cust
-- rows at most
orders: 1,500,000
customers: 150,000
cust: 150,000
v.m1: 150,000
v.m2: 1,500,000
v.m3: 2
v: 2
-- terms, 1 left out
v.m1 += Δcustomers
v.m2 += Δorders
v.m3 += Δv.m1 → v.m2 (new)
v += Δv.m3
-- jobs
job 1
  stage 1
    Δcustomers                                                        anywhere
    #1 := Δcustomers                                                  anywhere
    Δorders                                                           anywhere
    #3 := Δorders where cust IS NOT NULL · sum(total)                 anywhere
  exchange
    #2 := repartition(#1)                                             by cust_2
    #4 := repartition(#3)                                             on every partition
  stage 2
    v.m1 += #2                                                        by cust_2
    v.m2 += #4                                                        on every partition
    #5 := #1 → sums of v.m2[cust < cust_2]                            anywhere
  driver
    #6 := gather(#5)                                                  at the driver
    v.m3 += #6                                                        at the driver
    #7 := changed groups of v.m3                                      at the driver
    v += #7                                                           at the driver
