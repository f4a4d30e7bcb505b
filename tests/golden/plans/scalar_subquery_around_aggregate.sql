select cust, sum(total) / (select sum(total) from orders) r, sum(total + (select max(total) from orders)) q
from orders group by cust
-- plan
Project cust, c_call / `sum(total)` AS r, q
  Join inner
    Aggregate [cust] cust, sum(total + `max(total)`) AS q, sum(total) AS c_call
      Join inner
        Project cust, total
          Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
        Aggregate [] max(total_2) AS `max(total)`
          Project total_2
            Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
    Aggregate [] sum(total_3) AS `sum(total)`
      Project total_3
        Scan orders [id_3, cust_3, total_3, d_3, day_3, ts_3, s_3, b_3, arr_3, m_3, st_3]
