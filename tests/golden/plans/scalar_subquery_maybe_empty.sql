select id from orders where total > (select max(total) from orders having count(*) > 5)
-- plan
Project id
  Filter total > `max(total)`
    Join left
      Project id, total
        Filter total IS NOT NULL
          Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
      Project `max(total)`
        Filter `count(1)` > 5
          Aggregate [] max(total_2) AS `max(total)`, count(*) AS `count(1)`
            Project total_2
              Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
