select o.id, x.name from orders o, lateral (select name from customers c where c.cust = o.cust order by name
limit 1) x
-- plan
Project id, name
  Join inner cust_2 = cust
    Project id, cust
      Filter cust IS NOT NULL
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Project name, cust_2
      Filter rn <= 1
        Window [PARTITION BY cust_2 ORDER BY name] row_number() OVER (ROWS UNBOUNDED PRECEDING TO CURRENT ROW) AS rn
          Project name, cust_2
            Scan customers [cust_2, name, region]
