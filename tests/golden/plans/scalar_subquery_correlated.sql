select id, (select name from customers c where c.cust = o.cust) n from orders o
-- plan
Project id, if(c_partners > 1, raise_error('SCALAR_SUBQUERY_TOO_MANY_ROWS'), name_2) AS n
  Join left cust_2 = cust
    Project id, cust
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Aggregate [cust_2] cust_2, count(*) AS c_partners, min(name) AS name_2
      Project name, cust_2
        Scan customers [cust_2, name, region]
