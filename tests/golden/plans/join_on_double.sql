select a.id, b.id x from orders a join orders b on a.d = b.d
-- plan
Project id, id_2 AS x
  Join inner normalize_float(d) = normalize_float(d_2)
    Project id, d
      Filter d IS NOT NULL
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Project id_2, d_2
      Filter d_2 IS NOT NULL
        Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
