select a.id, b.name from orders a left join customers b on a.cust = b.cust and a.total > (select avg(total)
from orders)
-- plan
Project id, name
  Join left cust = cust_3 AND cast(total AS decimal(16,6)) > `avg(total)`
    Join inner
      Project id, cust, total
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
      Aggregate [] avg(total_2) AS `avg(total)`
        Project total_2
          Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
    Project cust_3, name
      Scan customers [cust_3, name, region]
