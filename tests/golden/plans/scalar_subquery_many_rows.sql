select id, (select name from customers) n from orders
-- plan
Spark Project [id, scalar-subquery [] AS n] [id, n]: a subquery that may give more than one row is evaluated by Spark alone
  Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
  Project name
    Scan customers [cust_2, name, region]
