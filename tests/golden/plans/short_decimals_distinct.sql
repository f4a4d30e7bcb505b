SELECT sum(DISTINCT cast(p_size AS decimal(5,2))) AS d FROM part
-- plan
Aggregate [] sum(DISTINCT cast(p_size AS decimal(5,2))) AS d
  Project p_size
    Scan part [p_partkey, p_mfgr, p_type, p_size, p_brand, p_container]
