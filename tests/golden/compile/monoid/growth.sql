-- case: joins of what grows
-- facts: {"growing": ["orders", "customers"]}
SELECT id, name FROM orders JOIN customers USING (cust) WHERE id > 3 AND id IN (SELECT cust FROM customers)
-- operators
Project id, name_2
  only grows
Join inner cust = cust_3
  only grows
Join semi id = cust_2
  only grows
Project id, cust
  only grows
Filter id > 3 AND cust IS NOT NULL
  only grows
Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
  only grows
Project cust_2
  only grows
Scan customers [cust_2, name, region]
  only grows
Project cust_3, name_2
  only grows
Scan customers [cust_3, name_2, region_2]
  only grows
-- case: one side may shrink
-- facts: {"growing": ["orders"]}
SELECT id FROM orders WHERE cust IN (SELECT cust FROM customers)
-- operators
Project id
  may shrink
Join semi cust = cust_2
  may shrink
Project id, cust
  only grows
Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
  only grows
Project cust_2
  may shrink
Scan customers [cust_2, name, region]
  may shrink
-- case: an anti join loses rows
-- facts: {"growing": ["orders", "customers"]}
SELECT cust FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.cust = c.cust)
-- operators
Join anti cust_2 = cust
  may shrink
Project cust
  only grows
Scan customers [cust, name, region]
  only grows
Project cust_2
  only grows
Scan orders [id, cust_2, total, d, day, ts, s, b, arr, m, st]
  only grows
-- case: DISTINCT grows, an aggregate replaces its row
-- facts: {"growing": ["orders"]}
SELECT cust, count(*) AS n FROM orders GROUP BY cust UNION ALL SELECT DISTINCT cust, id FROM orders
-- operators
Union [cust_3, n_2]
  may shrink
Aggregate [cust] cust, count(*) AS n
  may shrink
Project cust
  only grows
Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
  only grows
Aggregate [cust_2, id_2] cust_2, id_2
  only grows
Project cust_2, id_2
  only grows
Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
  only grows
-- case: what explode makes grows
-- facts: {"growing": ["orders"]}
SELECT id, explode(arr) AS x FROM orders UNION ALL SELECT * FROM VALUES (1L, 2)
-- operators
Union [id_2, x_2]
  only grows
Generate explode(arr) AS x [id, x]
  only grows
Project id, arr
  only grows
Filter arr IS NOT NULL AND size(arr) > 0
  only grows
Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
  only grows
Values [col1, col2] (1, 2)
  only grows
