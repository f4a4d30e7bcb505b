select s, mode(cust) m, listagg(cast(id as string), ',') l, max_by(id, total) b from orders group by s
-- plan
Aggregate [s] s, mode[reverseOpt=true](cust) AS m_2, listagg[asc nulls first, asc nulls first](cast(id AS string), ',', cast(id AS string), id) AS l, max(if(total IS NOT NULL, named_struct('c0', total, 'c1', cast(id AS string), 'c2', id), NULL)).c2 AS b_2
  Project id, cust, total, s
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- plan from Spark 4.2: mode takes -0.0 as 0.0
Aggregate [s] s, mode[reverseOpt=true, since 4.2](cust) AS m_2, listagg[asc nulls first, asc nulls first](cast(id AS string), ',', cast(id AS string), id) AS l, max(if(total IS NOT NULL, named_struct('c0', total, 'c1', cast(id AS string), 'c2', id), NULL)).c2 AS b_2
  Project id, cust, total, s
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
