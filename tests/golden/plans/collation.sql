select s collate UTF8_LCASE k, count(*) c from orders group by s collate UTF8_LCASE
-- plan
Sealed Aggregate [c_groupingexpression], [c_groupingexpression AS k, count(1) AS c] [k, c]: strings are compared by a collation, by Spark alone
  Project collate(s, UTF8_LCASE) AS c_groupingexpression
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
