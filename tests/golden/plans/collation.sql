select s collate UTF8_LCASE k, count(*) c from orders group by s collate UTF8_LCASE
-- plan
Aggregate [c_groupingexpression] cast(min(cast(cast(s AS string collate UTF8_LCASE) AS string)) AS string collate UTF8_LCASE) AS k, count(*) AS c
  Project s, collation_key(cast(s AS string collate UTF8_LCASE)) AS c_groupingexpression
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- plan from Spark 4.2: letters are those of Unicode 17
Aggregate [c_groupingexpression] cast(min(cast(cast(s AS string collate UTF8_LCASE) AS string)) AS string collate UTF8_LCASE) AS k, count(*) AS c
  Project s, collation_key[since 4.2](cast(s AS string collate UTF8_LCASE)) AS c_groupingexpression
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
