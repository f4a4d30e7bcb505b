SELECT p_partkey, 1 + sum(cast(p_size AS decimal(5,2))) OVER (PARTITION BY p_brand ORDER BY p_partkey) AS s FROM part
-- plan
Project p_partkey, 1 + c_we0 AS s
  Window [PARTITION BY p_brand ORDER BY p_partkey] sum(c_w0) OVER (RANGE UNBOUNDED PRECEDING TO CURRENT ROW) AS c_we0
    Project p_partkey, cast(p_size AS decimal(5,2)) AS c_w0, p_brand
      Scan part [p_partkey, p_mfgr, p_type, p_size, p_brand, p_container]
