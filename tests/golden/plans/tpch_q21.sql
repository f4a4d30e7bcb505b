select s_name, count(*) as numwait from supplier, lineitem l1, ord, nation where s_suppkey = l1.l_suppkey and
o_orderkey = l1.l_orderkey and o_orderstatus = 'F' and l1.l_receiptdate > l1.l_commitdate and exists (select *
from lineitem l2 where l2.l_orderkey = l1.l_orderkey and l2.l_suppkey <> l1.l_suppkey) and not exists (select
* from lineitem l3 where l3.l_orderkey = l1.l_orderkey and l3.l_suppkey <> l1.l_suppkey and l3.l_receiptdate >
l3.l_commitdate) and s_nationkey = n_nationkey and n_name = 'SAUDI ARABIA' group by s_name order by numwait
desc, s_name limit 100
-- plan
Top 100 ORDER BY numwait DESC, s_name
  Aggregate [s_name] s_name, count(*) AS numwait
    Project s_name
      Join inner s_nationkey = n_nationkey
        Project s_name, s_nationkey
          Join inner o_orderkey = l_orderkey
            Project s_name, s_nationkey, l_orderkey
              Join inner s_suppkey = l_suppkey
                Project s_suppkey, s_name, s_nationkey
                  Filter s_nationkey IS NOT NULL
                    Scan supplier [s_suppkey, s_acctbal, s_name, s_nationkey]
                Join anti l_orderkey_3 = l_orderkey AND l_suppkey_3 <> l_suppkey
                  Join semi l_orderkey_2 = l_orderkey AND l_suppkey_2 <> l_suppkey
                    Project l_orderkey, l_suppkey
                      Filter l_receiptdate IS NOT NULL AND l_commitdate IS NOT NULL AND l_receiptdate > l_commitdate AND l_suppkey IS NOT NULL AND l_orderkey IS NOT NULL
                        Scan lineitem [l_orderkey, l_partkey, l_suppkey, l_quantity, l_extendedprice, l_discount, l_shipdate, l_commitdate, l_receiptdate]
                    Project l_orderkey_2, l_suppkey_2
                      Scan lineitem [l_orderkey_2, l_partkey_2, l_suppkey_2, l_quantity_2, l_extendedprice_2, l_discount_2, l_shipdate_2, l_commitdate_2, l_receiptdate_2]
                  Project l_orderkey_3, l_suppkey_3
                    Filter l_receiptdate_3 IS NOT NULL AND l_commitdate_3 IS NOT NULL AND l_receiptdate_3 > l_commitdate_3
                      Scan lineitem [l_orderkey_3, l_partkey_3, l_suppkey_3, l_quantity_3, l_extendedprice_3, l_discount_3, l_shipdate_3, l_commitdate_3, l_receiptdate_3]
            Project o_orderkey
              Filter o_orderstatus IS NOT NULL AND o_orderstatus = 'F'
                Scan ord [o_orderkey, o_custkey, o_orderstatus, o_orderdate, o_shippriority]
        Project n_nationkey
          Filter n_name IS NOT NULL AND n_name = 'SAUDI ARABIA'
            Scan nation [n_nationkey, n_name, n_regionkey]
