select cust, sum(total) t from orders group by cust having sum(total) > 10 and count(*) > 1
-- plan
Project cust, t
  Filter t IS NOT NULL AND t > 10.00 AND `count(1)` > 1
    Aggregate [cust] cust, sum(total) AS t, count(*) AS `count(1)`
      Project cust, total
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
