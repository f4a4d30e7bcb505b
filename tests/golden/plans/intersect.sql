select id from orders intersect select cust from customers
-- plan
Aggregate [id] id
  Join semi id <=> cust_2
    Project id
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Project cust_2
      Scan customers [cust_2, name, region]
