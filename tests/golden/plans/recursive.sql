with recursive r(n, c) as (select id, cust from orders union all select r.n + 1, o.cust from r join orders o
on o.id = r.c where r.n < 5) select n, count(*) k from r group by n
-- plan
Aggregate [n] n, count(*) AS k
  Project id_3 AS n
    Spark UnionLoop [id_3, cust_3]: a recursive query is evaluated by Spark alone
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
      Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
