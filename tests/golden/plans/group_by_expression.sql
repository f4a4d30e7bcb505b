select year(day) y, sum(total) t from orders group by year(day)
-- plan
Aggregate [_groupingexpression] _groupingexpression AS y, sum(total) AS t
  Project total, year(day) AS _groupingexpression
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
