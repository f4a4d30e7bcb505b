select id from orders union all select cust from customers
-- plan
Union [id_2]
  Project id
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
  Project cust_2
    Scan customers [cust_2, name, region]
