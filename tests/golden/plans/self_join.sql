select a.id, b.id id2 from orders a join orders b on a.cust = b.cust and a.id < b.id
-- plan
Project id, id_2 AS id2
  Join inner cust = cust_2 AND id < id_2
    Project id, cust
      Filter cust IS NOT NULL
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Project id_2, cust_2
      Filter cust_2 IS NOT NULL
        Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
