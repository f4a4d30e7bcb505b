SELECT p_size, sum(price) AS s, sum(price) FILTER (WHERE p_brand = 'b') AS f, try_sum(whole) AS t, avg(price) AS a,
  sum(price) + sum(longer) AS l
FROM (SELECT p_size, p_brand, cast(p_size AS decimal(5,2)) AS price, cast(p_size AS decimal(8,0)) AS whole,
  cast(p_size AS decimal(9,2)) AS longer FROM part)
GROUP BY p_size
-- plan
Aggregate [p_size] p_size, sum(price) AS s, sum(price) FILTER (WHERE p_brand = 'b') AS f, sum(whole) AS t, cast(avg(unscaled(price)) / 100.0 AS decimal(9,6)) AS a, sum(price) + sum(longer) AS l
  Project p_size, p_brand, cast(p_size AS decimal(5,2)) AS price, cast(p_size AS decimal(8,0)) AS whole, cast(p_size AS decimal(9,2)) AS longer
    Scan part [p_partkey, p_mfgr, p_type, p_size, p_brand, p_container]
-- plan from Spark 4.3: try_sum stays one where the optimizer adds up integers instead of decimals
Aggregate [p_size] p_size, sum(price) AS s, sum(price) FILTER (WHERE p_brand = 'b') AS f, try_sum(whole) AS t, cast(avg(unscaled(price)) / 100.0 AS decimal(9,6)) AS a, sum(price) + sum(longer) AS l
  Project p_size, p_brand, cast(p_size AS decimal(5,2)) AS price, cast(p_size AS decimal(8,0)) AS whole, cast(p_size AS decimal(9,2)) AS longer
    Scan part [p_partkey, p_mfgr, p_type, p_size, p_brand, p_container]
