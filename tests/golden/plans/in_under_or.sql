select id from orders where cust in (select cust from customers) or d > 1
-- plan
Project id
  Filter exists OR d > 1.0
    Join exists cust = cust_2
      Project id, cust, d
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
      Project cust_2
        Scan customers [cust_2, name, region]
