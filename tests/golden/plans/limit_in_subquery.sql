select id from orders where cust in (select cust from customers order by name limit 3)
-- plan
Project id
  Join semi cust = cust_2
    Project id, cust
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Project cust_2
      Top 3 ORDER BY name, cust_2
        Project cust_2, name
          Scan customers [cust_2, name, region]
