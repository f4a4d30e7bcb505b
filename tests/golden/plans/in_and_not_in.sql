select id from orders where cust in (select cust from customers) and s not in (select name from customers)
-- plan
Project id
  Join anti (s = name_2 OR (s = name_2) IS NULL)
    Project id, s
      Join semi cust = cust_2
        Project id, cust, s
          Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
        Project cust_2
          Scan customers [cust_2, name, region]
    Project name_2
      Scan customers [cust_3, name_2, region_2]
