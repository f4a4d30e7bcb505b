select id, total / (select sum(total) from orders) share from orders where total > (select avg(total) from
orders)
-- plan
Project id, total / `sum(total)` AS share
  Join inner
    Project id, total
      Filter cast(total AS decimal(16,6)) > `avg(total)`
        Join inner
          Project id, total
            Filter total IS NOT NULL
              Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
          Aggregate [] avg(total_2) AS `avg(total)`
            Project total_2
              Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
    Aggregate [] sum(total_3) AS `sum(total)`
      Project total_3
        Scan orders [id_3, cust_3, total_3, d_3, day_3, ts_3, s_3, b_3, arr_3, m_3, st_3]
