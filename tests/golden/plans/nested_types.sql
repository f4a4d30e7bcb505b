select id, st.x, arr[0] a0, m['k'] mk, transform(arr, x -> x + id) tr, filter(arr, x -> x > 1) fl, map_keys(m)
mk2, size(arr) sz, named_struct('a', id, 'b', s) ns, array(id, cust) ar from orders
-- plan
Project id, st.x AS x, arr[0] AS a0, m[k] AS mk, transform(arr, lambdafunction((cast(x as bigint) + id), x, false)) AS tr, filter(arr, lambdafunction((x > 1), x, false)) AS fl, map_keys(m) AS mk2, size(arr) AS sz, named_struct('a', id, 'b', s) AS ns, array(id, cust) AS ar
  Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
