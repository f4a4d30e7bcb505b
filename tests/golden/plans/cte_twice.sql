with a as (select cust, sum(total) t from orders group by cust) select x.cust, x.t, y.t t2 from a x join a y
on x.cust = y.cust + 1
-- plan
Project cust, t, t_2 AS t2
  Join inner cust = cust_2 + 1
    Aggregate [cust] cust, sum(total) AS t
      Project cust, total
        Filter cust IS NOT NULL
          Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Aggregate [cust_2] cust_2, sum(total_2) AS t_2
      Project cust_2, total_2
        Filter cust_2 IS NOT NULL
          Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
