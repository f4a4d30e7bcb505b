select id from orders where exists (select 1 from customers where region = 'x')
-- plan
Project id
  Filter exists
    Join inner
      Project id
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
      Aggregate [] count(*) > 0 AS exists
        Project
          Filter region IS NOT NULL AND region = 'x'
            Scan customers [cust_2, name, region]
