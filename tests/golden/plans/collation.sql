select s collate UTF8_LCASE k, count(*) c from orders group by s collate UTF8_LCASE
-- plan
Aggregate [c_groupingexpression] cast(min(cast(collate(s, UTF8_LCASE) as string)) as string collate UTF8_LCASE) AS k, count(*) AS c
  Project s, collationkey(collate(s, UTF8_LCASE)) AS c_groupingexpression
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
