-- case: a chain
SELECT r_name, s_name FROM region JOIN nation ON r_regionkey = n_regionkey JOIN supplier ON s_nationkey = n_nationkey
-- products
Δnation → region[n_regionkey = r_regionkey] → supplier[n_nationkey = s_nationkey]
Δregion → nation[r_regionkey = n_regionkey] → supplier[n_nationkey = s_nationkey]
Δsupplier → nation[s_nationkey = n_nationkey] → region[n_regionkey = r_regionkey]
-- case: a star
SELECT count(*) AS n FROM lineitem JOIN part ON l_partkey = p_partkey JOIN supplier ON l_suppkey = s_suppkey JOIN ord ON l_orderkey = o_orderkey
-- products
Δlineitem → ord[l_orderkey = o_orderkey] → part[l_partkey = p_partkey] → supplier[l_suppkey = s_suppkey]
Δord → lineitem[o_orderkey = l_orderkey] → part[l_partkey = p_partkey] → supplier[l_suppkey = s_suppkey]
Δpart → lineitem[p_partkey = l_partkey] → ord[l_orderkey = o_orderkey] → supplier[l_suppkey = s_suppkey]
Δsupplier → lineitem[s_suppkey = l_suppkey] → ord[l_orderkey = o_orderkey] → part[l_partkey = p_partkey]
-- case: a cycle
SELECT count(*) AS n FROM orders a JOIN orders b ON a.id = b.cust JOIN orders c ON b.id = c.cust AND c.id = a.cust
-- products
Δorders → orders[id = cust_2] → orders[id_2 = cust_3, cust = id_3]
Δorders → orders[cust_2 = id] → orders[id_2 = cust_3, cust = id_3]
Δorders → orders[id_3 = cust] → orders[id = cust_2, cust_3 = id_2]
-- case: a range that is added up
SELECT sum(a.total) AS total FROM orders a JOIN customers b ON a.cust < b.cust
-- products
Δcustomers → sum of orders[cust < cust_2]
Δorders → sum of customers[cust < cust_2]
-- case: a range row by row
SELECT a.id, b.name FROM orders a JOIN customers b ON a.cust < b.cust
-- products
Δcustomers → orders[cust < cust_2]
Δorders → customers[cust < cust_2]
-- case: equal or both NULL
SELECT a.id, b.name FROM orders a JOIN customers b ON a.s <=> b.name
-- products
Δcustomers → orders[name <=> s]
Δorders → customers[s <=> name]
