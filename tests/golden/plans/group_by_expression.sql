select year(day) y, sum(total) t from orders group by year(day)
-- plan
Aggregate [c_groupingexpression] c_groupingexpression AS y, sum(total) AS t
  Project total, year(day) AS c_groupingexpression
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
