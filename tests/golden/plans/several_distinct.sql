select cust, count(distinct s) a, count(distinct day) b, sum(total) c from orders group by cust
-- plan
Aggregate [cust] cust, count(`orders.s`) FILTER (WHERE gid = 2) AS a, count(`orders.day`) FILTER (WHERE gid = 1) AS b_2, max(`sum(orders.total)`) FILTER (WHERE gid = 0) AS c
  Aggregate [cust, `orders.day`, `orders.s`, gid] cust, `orders.day`, `orders.s`, gid, sum(`orders.total`) AS `sum(orders.total)`
    Expand [cust, `orders.day`, `orders.s`, gid, `orders.total`] (cust, NULL, NULL, 0, total), (cust, day, NULL, 1, NULL), (cust, NULL, s, 2, NULL)
      Project cust, total, day, s
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
