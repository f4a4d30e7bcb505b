select sum(l_extendedprice) / 7.0 as avg_yearly from lineitem, part where p_partkey = l_partkey and p_brand =
'Brand#23' and p_container = 'MED BOX' and l_quantity < (select 0.2 * avg(l_quantity) from lineitem where
l_partkey = p_partkey)
-- plan
Aggregate [] sum(l_extendedprice) / 7.0 AS avg_yearly
  Project l_extendedprice
    Join inner cast(l_quantity AS decimal(18,7)) < `(0.2 * avg(l_quantity))` AND l_partkey_2 = p_partkey
      Project l_quantity, l_extendedprice, p_partkey
        Join inner p_partkey = l_partkey
          Project l_partkey, l_quantity, l_extendedprice
            Filter l_partkey IS NOT NULL AND l_quantity IS NOT NULL
              Scan lineitem [l_orderkey, l_partkey, l_suppkey, l_quantity, l_extendedprice, l_discount, l_shipdate, l_commitdate, l_receiptdate]
          Project p_partkey
            Filter p_brand IS NOT NULL AND p_container IS NOT NULL AND p_brand = 'Brand#23' AND p_container = 'MED BOX'
              Scan part [p_partkey, p_mfgr, p_type, p_size, p_brand, p_container]
      Filter `(0.2 * avg(l_quantity))` IS NOT NULL
        Aggregate [l_partkey_2] 0.2 * avg(l_quantity_2) AS `(0.2 * avg(l_quantity))`, l_partkey_2
          Project l_partkey_2, l_quantity_2
            Filter l_partkey_2 IS NOT NULL
              Scan lineitem [l_orderkey_2, l_partkey_2, l_suppkey_2, l_quantity_2, l_extendedprice_2, l_discount_2, l_shipdate_2, l_commitdate_2, l_receiptdate_2]
