select cust, count(distinct s) a, count(distinct day) b, sum(total) c from orders group by cust
-- program
view v → cust, a, b, c
  Aggregate [cust] cust, count(`orders.s`) FILTER (WHERE gid = 1) AS a, count(`orders.day`) FILTER (WHERE gid = 2) AS b_2, max(`sum(orders.total)`) FILTER (WHERE gid = 0) AS c  keyed  (max is not a sum)
    Aggregate [cust, `orders.s`, `orders.day`, gid] cust, `orders.s`, `orders.day`, gid, sum(`orders.total`) AS `sum(orders.total)`  ring
      Expand [cust, `orders.s`, `orders.day`, gid, `orders.total`] (cust, NULL, NULL, 0, total), (cust, s, NULL, 1, NULL), (cust, NULL, day, 2, NULL)  ring
        Project cust, total, day, s                                           ring
          Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [cust, orders.s, orders.day, gid] := Sum[cust, orders.s, orders.day, gid](sum(`orders.total`))
  v.m2 [cust] := Aggregate [cust, `orders.s`, `orders.day`, gid] cust, `orders.s`, `orders.day`, gid, sum(`orders.total`) AS `sum(orders.total)`, by cust
  v [_key] := Aggregate [cust] cust, count(`orders.s`) FILTER (WHERE gid = 1) AS a, count(`orders.day`) FILTER (WHERE gid = 2) AS b_2, max(`sum(orders.total)`) FILTER (WHERE gid = 0) AS c
on orders
  v.m1 += Sum[cust, orders.s, orders.day, gid](sum(_x0) · spread×3(π(cust, total, day, s)(Δorders)))
  v.m2 += π(cust, orders.s, orders.day, gid, _a0 → sum(orders.total))(answer[cust, orders.s, orders.day, gid](Δv.m1))
  v += aggregate(touched groups of v.m2′) − v
