select cust, count(distinct s) a, count(distinct day) b, sum(total) c from orders group by cust
-- plan
Aggregate [cust] cust, count(`orders.s`) FILTER (WHERE gid = 1) AS a, count(`orders.day`) FILTER (WHERE gid = 2) AS b_2, cast(sum(`sum(orders.total)`) FILTER (WHERE gid = 0) AS decimal(22,2)) AS c
  Aggregate [cust, `orders.s`, `orders.day`, gid] cust, `orders.s`, `orders.day`, gid, sum(`orders.total`) AS `sum(orders.total)`
    Expand [cust, `orders.s`, `orders.day`, gid, `orders.total`] (cust, NULL, NULL, 0, total), (cust, s, NULL, 1, NULL), (cust, NULL, day, 2, NULL)
      Project cust, total, day, s
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
