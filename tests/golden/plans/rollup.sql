select cust, s, sum(total) t, grouping(cust) g from orders group by rollup(cust, s)
-- plan
Aggregate [cust_2, s_2, spark_grouping_id] cust_2, s_2, sum(total) AS t, cast(shift_right(spark_grouping_id, 1) & 1 AS tinyint) AS g
  Expand [total, cust_2, s_2, spark_grouping_id] (total, cust, s, 0), (total, cust, NULL, 1), (total, NULL, NULL, 3)
    Project total, cust, s
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
