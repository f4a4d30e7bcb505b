select null n, cast(null as int) i, double('nan') x, timestamp'2020-01-01 00:00:00' t,
timestamp_ntz'2020-01-01 00:00:00' tn, X'00ff' b, interval '1' day iv, 1.50BD d from orders
-- plan
Project NULL AS n, NULL AS i, nan AS x, 2020-01-01 00:00:00Z AS t, 2020-01-01 00:00:00 AS tn, X'00FF' AS b_2, INTERVAL '1' DAY AS iv, 1.50 AS d_2
  Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
