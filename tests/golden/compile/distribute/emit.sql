-- case: tpch q3
-- facts: {"rows": {"lineitem": 6000000, "ord": 1500000, "cust": 150000}, "keys": {"lineitem": [0, 1], "ord": [0], "cust": [0]}}
select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate, o_shippriority from cust,
ord, lineitem where c_mktsegment = 'BUILDING' and c_custkey = o_custkey and l_orderkey = o_orderkey and
o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15' group by l_orderkey, o_orderdate,
o_shippriority
-- well-formed
Δcust                                                             anywhere
#1 := Δcust where c_mktsegment IS NOT NULL AND c_mktsegment = 'BUILDING'  anywhere
#2 := repartition(#1)                                             by c_custkey
v.m1 += #2                                                        by c_custkey
Δlineitem                                                         anywhere
#3 := Δlineitem where l_shipdate IS NOT NULL AND l_shipdate > 1995-03-15 AND l_orderkey IS NOT NULL · sum(l_extendedprice * (1 - l_discount))  anywhere
#4 := repartition(#3)                                             by l_orderkey
v.m2 += #4                                                        by l_orderkey
Δord                                                              anywhere
#5 := Δord where o_orderdate IS NOT NULL AND o_orderdate < 1995-03-15 AND o_custkey IS NOT NULL  anywhere
#6 := repartition(#5)                                             by o_orderkey
v.m3 += #6                                                        by o_orderkey
#7 := repartition(Δv.m1)                                          on every partition
#8 := #7 → v.m3[c_custkey = o_custkey] → v.m2[o_orderkey = l_orderkey]  by l_orderkey
#9 := Δv.m2 → v.m3[l_orderkey = o_orderkey]                       by l_orderkey
#10 := repartition(#9)                                            by o_custkey
#11 := #10 → v.m1[o_custkey = c_custkey]                          anywhere
#12 := repartition(Δv.m3)                                         by o_custkey
#13 := #12 → v.m1[o_custkey = c_custkey]                          by o_custkey
#14 := repartition(#13)                                           by o_orderkey
#15 := #14 → v.m2[o_orderkey = l_orderkey]                        by l_orderkey
#16 := repartition(#11)                                           by l_orderkey
v.m4 += #8 + #16 + #15                                            by l_orderkey
#17 := changed groups of v.m4                                     by l_orderkey
v += #17                                                          by l_orderkey
-- optimized
Δcust                                                             anywhere
#1 := Δcust where c_mktsegment IS NOT NULL AND c_mktsegment = 'BUILDING'  anywhere
#2 := repartition(#1)                                             by c_custkey
v.m1 += #2                                                        by c_custkey
Δlineitem                                                         anywhere
#3 := Δlineitem where l_shipdate IS NOT NULL AND l_shipdate > 1995-03-15 AND l_orderkey IS NOT NULL · sum(l_extendedprice * (1 - l_discount))  anywhere
#4 := repartition(#3)                                             by l_orderkey
v.m2 += #4                                                        by l_orderkey
Δord                                                              anywhere
#5 := Δord where o_orderdate IS NOT NULL AND o_orderdate < 1995-03-15 AND o_custkey IS NOT NULL  anywhere
#6 := repartition(#5)                                             by o_orderkey
v.m3 += #6                                                        by o_orderkey
#7 := repartition(#1)                                             on every partition
#8 := #7 → v.m3[c_custkey = o_custkey] → v.m2[o_orderkey = l_orderkey]  by l_orderkey
#9 := Δv.m2 → v.m3[l_orderkey = o_orderkey]                       by l_orderkey
#10 := repartition(#9)                                            by o_custkey
#11 := #10 → v.m1[o_custkey = c_custkey]                          anywhere
#12 := repartition(#5)                                            by o_custkey
#13 := #12 → v.m1[o_custkey = c_custkey]                          by o_custkey
#14 := repartition(#13)                                           by o_orderkey
#15 := #14 → v.m2[o_orderkey = l_orderkey]                        by l_orderkey
#16 := repartition(#11)                                           by l_orderkey
v.m4 += #8 + #16 + #15                                            by l_orderkey
#17 := changed groups of v.m4                                     by l_orderkey
v += #17                                                          by l_orderkey
-- case: tpch q17
-- facts: {"rows": {"lineitem": 6000000, "part": 200000}, "keys": {"lineitem": [0, 1], "part": [0]}}
select sum(l_extendedprice) / 7.0 as avg_yearly from lineitem, part where p_partkey = l_partkey and p_brand =
'Brand#23' and p_container = 'MED BOX' and l_quantity < (select 0.2 * avg(l_quantity) from lineitem where
l_partkey = p_partkey)
-- well-formed
Δlineitem                                                         anywhere
#1 := Δlineitem where l_partkey_2 IS NOT NULL · avg(l_quantity_2)  anywhere
#2 := repartition(#1)                                             by l_partkey_2
v.m1 += #2                                                        by l_partkey_2
#3 := changed groups of v.m1 where 0.2 * _a1 IS NOT NULL          by l_partkey_2
v.m2 += #3                                                        by l_partkey_2
#4 := Δlineitem where l_partkey IS NOT NULL AND l_quantity IS NOT NULL · sum(l_extendedprice)  anywhere
#5 := repartition(#4)                                             by l_partkey
v.m3 += #5                                                        by l_partkey
Δpart                                                             anywhere
#6 := Δpart where p_brand IS NOT NULL AND p_container IS NOT NULL AND p_brand = 'Brand#23' AND p_container = 'MED BOX'  anywhere
#7 := repartition(#6)                                             by p_partkey
v.m4 += #7                                                        by p_partkey
#8 := Δv.m2 → v.m4[l_partkey_2 = p_partkey] → sums of v.m3[l_partkey_2 = l_partkey, _e2 < _e3]  anywhere
#9 := Δv.m3 → v.m4[l_partkey = p_partkey] → sums of v.m2[l_partkey = l_partkey_2, _e2 < _e3]  anywhere
#10 := Δv.m4 → v.m2[p_partkey = l_partkey_2] → sums of v.m3[l_partkey_2 = l_partkey, _e2 < _e3]  anywhere
#11 := gather(#8)                                                 at the driver
#12 := gather(#9)                                                 at the driver
#13 := gather(#10)                                                at the driver
v.m5 += #11 + #12 + #13                                           at the driver
#14 := changed groups of v.m5                                     at the driver
v += #14                                                          at the driver
-- optimized
Δlineitem                                                         anywhere
#1 := Δlineitem where l_partkey_2 IS NOT NULL · avg(l_quantity_2)  anywhere
#2 := repartition(#1)                                             by l_partkey_2
v.m1 += #2                                                        by l_partkey_2
#3 := changed groups of v.m1 where 0.2 * _a1 IS NOT NULL          by l_partkey_2
v.m2 += #3                                                        by l_partkey_2
#4 := Δlineitem where l_partkey IS NOT NULL AND l_quantity IS NOT NULL · sum(l_extendedprice)  anywhere
#5 := repartition(#4)                                             by l_partkey
v.m3 += #5                                                        by l_partkey
Δpart                                                             anywhere
#6 := Δpart where p_brand IS NOT NULL AND p_container IS NOT NULL AND p_brand = 'Brand#23' AND p_container = 'MED BOX'  anywhere
#7 := repartition(#6)                                             by p_partkey
v.m4 += #7                                                        by p_partkey
#8 := Δv.m2 → v.m4[l_partkey_2 = p_partkey] → sums of v.m3[l_partkey_2 = l_partkey, _e2 < _e3]  anywhere
#9 := Δv.m3 → v.m4[l_partkey = p_partkey] → sums of v.m2[l_partkey = l_partkey_2, _e2 < _e3]  anywhere
#10 := Δv.m4 → v.m2[p_partkey = l_partkey_2] → sums of v.m3[l_partkey_2 = l_partkey, _e2 < _e3]  anywhere
#11 := gather(#8)                                                 at the driver
#12 := gather(#9)                                                 at the driver
#13 := gather(#10)                                                at the driver
v.m5 += #11 + #12 + #13                                           at the driver
#14 := changed groups of v.m5                                     at the driver
v += #14                                                          at the driver
-- case: two tables
-- facts: {"rows": {"orders": 1500000, "customers": 150000, "cust": 150000}, "keys": {"orders": [0], "customers": [0], "cust": [0]}}
SELECT o.id, c.name FROM orders o JOIN customers c ON o.cust = c.cust
-- well-formed
Δcustomers                                                        anywhere
#1 := Δcustomers                                                  anywhere
#2 := repartition(#1)                                             by cust_2
v.m1 += #2                                                        by cust_2
Δorders                                                           anywhere
#3 := Δorders where cust IS NOT NULL                              anywhere
#4 := repartition(#3)                                             by id
v.m2 += #4                                                        by id
#5 := repartition(Δv.m1)                                          on every partition
#6 := #5 → v.m2[cust_2 = cust]                                    by id
#7 := repartition(Δv.m2)                                          by cust
#8 := #7 → v.m1[cust = cust_2]                                    anywhere
#9 := repartition(#8)                                             by id
v += #6 + #9                                                      by id
-- optimized
Δcustomers                                                        anywhere
#1 := Δcustomers                                                  anywhere
#2 := repartition(#1)                                             by cust_2
v.m1 += #2                                                        by cust_2
Δorders                                                           anywhere
#3 := Δorders where cust IS NOT NULL                              anywhere
#4 := repartition(#3)                                             by cust
v.m2 += #4                                                        by cust
#5 := Δv.m1 → v.m2[cust_2 = cust]                                 anywhere
#6 := Δv.m2 → v.m1[cust = cust_2]                                 anywhere
#7 := repartition(#5)                                             by id
#8 := repartition(#6)                                             by id
v += #7 + #8                                                      by id
-- case: through a join of tables that only grow
-- facts: {"rows": {"orders": 1500000, "customers": 150000, "cust": 150000, "region": 5}, "keys": {"orders": [0], "customers": [0], "cust": [0], "region": [0]}, "growing": ["orders", "customers"]}
SELECT region, max(total) AS most FROM orders JOIN customers USING (cust) GROUP BY region
-- well-formed
Δcustomers                                                        anywhere
#1 := Δcustomers                                                  anywhere
#2 := repartition(#1)                                             by cust_2
v.m1 += #2                                                        by cust_2
Δorders                                                           anywhere
#3 := Δorders where cust IS NOT NULL                              anywhere
#4 := repartition(#3)                                             by cust
v.m2 += #4                                                        by cust
#5 := Δv.m1 → v.m2[cust_2 = cust]                                 anywhere
#6 := Δv.m2 → v.m1[cust = cust_2]                                 anywhere
#7 := repartition(#5)                                             by region
#8 := repartition(#6)                                             by region
v.m3 += #7 + #8                                                   by region
#9 := repartition(Δv.m3)                                          on every partition
#10 := Δv.m3 merged into max(_x1)                                 on every partition
v.m4 += #10                                                       on every partition
#11 := Δv.m4                                                      on every partition
#12 := gather(#11)                                                at the driver
v += #12                                                          at the driver
-- optimized
Δcustomers                                                        anywhere
#1 := Δcustomers                                                  anywhere
#2 := repartition(#1)                                             by cust_2
v.m1 += #2                                                        by cust_2
Δorders                                                           anywhere
#3 := Δorders where cust IS NOT NULL                              anywhere
#4 := repartition(#3)                                             by cust
v.m2 += #4                                                        by cust
#5 := Δv.m1 → v.m2[cust_2 = cust]                                 anywhere
#6 := Δv.m2 → v.m1[cust = cust_2]                                 anywhere
#7 := repartition(#5)                                             by region
#8 := repartition(#6)                                             by region
v.m3 += #7 + #8                                                   by region
#9 := repartition(Δv.m3)                                          on every partition
#10 := Δv.m3 merged into max(_x1)                                 on every partition
v.m4 += #10                                                       on every partition
#11 := Δv.m4                                                      on every partition
#12 := gather(#11)                                                at the driver
v += #12                                                          at the driver
-- case: a filter that only Spark evaluates
-- facts: {"rows": {"orders": 1500000}, "keys": {"orders": [0]}}
SELECT id FROM orders WHERE s RLIKE '^a+$'
-- well-formed
Δorders                                                           anywhere
#1 := gather(Δorders)                                             at the driver
#2 := #1 → on Spark: Filter s IS NOT NULL AND RLIKE(s, ^a+$)      at the driver
#3 := scatter(#2)                                                 by id
v += #3                                                           by id
-- optimized
Δorders                                                           anywhere
#1 := gather(Δorders)                                             at the driver
#2 := #1 → on Spark: Filter s IS NOT NULL AND RLIKE(s, ^a+$)      at the driver
#3 := scatter(#2)                                                 by id
v += #3                                                           by id
-- case: union all
-- facts: {"rows": {"orders": 1500000, "customers": 150000, "cust": 150000}, "keys": {"orders": [0], "customers": [0], "cust": [0]}}
select id from orders union all select cust from customers
-- well-formed
Δorders                                                           anywhere
#1 := Δorders                                                     anywhere
Δcustomers                                                        anywhere
#2 := Δcustomers                                                  anywhere
#3 := repartition(#1)                                             by id_2
#4 := repartition(#2)                                             by id_2
v += #3 + #4                                                      by id_2
-- optimized
Δorders                                                           anywhere
#1 := Δorders                                                     anywhere
Δcustomers                                                        anywhere
#2 := Δcustomers                                                  anywhere
#3 := repartition(#1)                                             by id_2
#4 := repartition(#2)                                             by id_2
v += #3 + #4                                                      by id_2
