select * from (select cust, s, total from orders) pivot (sum(total) for s in ('a','b'))
-- plan
Aggregate [cust] cust, max(if(s <=> 'a', `sum(__auto_generated_subquery_name.total)`, NULL)) AS a, max(if(s <=> 'b', `sum(__auto_generated_subquery_name.total)`, NULL)) AS b_2
  Aggregate [cust, s] cust, s, sum(total) AS `sum(__auto_generated_subquery_name.total)`
    Project cust, s, total
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
