select cust, collect_list(id) l, collect_set(s) st from orders group by cust
-- plan
Aggregate [cust] cust, sort_array(collect_list(id), true) AS l, sort_array(collect_set(s), true) AS st_2
  Project id, cust, s
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
