select s_acctbal, s_name, n_name, p_partkey, p_mfgr from part, supplier, partsupp, nation, region where
p_partkey = ps_partkey and s_suppkey = ps_suppkey and p_size = 15 and p_type like '%BRASS' and s_nationkey =
n_nationkey and n_regionkey = r_regionkey and r_name = 'EUROPE' and ps_supplycost = (select min(ps_supplycost)
from partsupp, supplier, nation, region where p_partkey = ps_partkey and s_suppkey = ps_suppkey and
s_nationkey = n_nationkey and n_regionkey = r_regionkey and r_name = 'EUROPE') order by s_acctbal desc,
n_name, s_name, p_partkey limit 100
-- plan
Top 100 ORDER BY s_acctbal_2 DESC, n_name_2, s_name_2, p_partkey, p_mfgr
  Project s_acctbal_2, s_name_2, n_name_2, p_partkey, p_mfgr
    Join inner n_regionkey_2 = r_regionkey_2
      Project p_partkey, p_mfgr, s_acctbal_2, s_name_2, n_name_2, n_regionkey_2
        Join inner s_nationkey_2 = n_nationkey_2
          Project p_partkey, p_mfgr, s_acctbal_2, s_name_2, s_nationkey_2
            Join inner s_suppkey_2 = ps_suppkey
              Project p_partkey, p_mfgr, ps_suppkey
                Join inner ps_supplycost = `min(ps_supplycost)` AND p_partkey = ps_partkey_2
                  Project p_partkey, p_mfgr, ps_suppkey, ps_supplycost
                    Join inner p_partkey = ps_partkey
                      Project p_partkey, p_mfgr
                        Filter p_size IS NOT NULL AND p_type IS NOT NULL AND p_size = 15 AND ends_with(p_type, 'BRASS')
                          Scan part [p_partkey, p_mfgr, p_type, p_size, p_brand, p_container]
                      Filter ps_supplycost IS NOT NULL
                        Scan partsupp [ps_partkey, ps_suppkey, ps_supplycost]
                  Filter `min(ps_supplycost)` IS NOT NULL
                    Aggregate [ps_partkey_2] min(ps_supplycost_2) AS `min(ps_supplycost)`, ps_partkey_2
                      Project ps_partkey_2, ps_supplycost_2
                        Join inner n_regionkey = r_regionkey
                          Project ps_partkey_2, ps_supplycost_2, n_regionkey
                            Join inner s_nationkey = n_nationkey
                              Project ps_partkey_2, ps_supplycost_2, s_nationkey
                                Join inner s_suppkey = ps_suppkey_2
                                  Scan partsupp [ps_partkey_2, ps_suppkey_2, ps_supplycost_2]
                                  Project s_suppkey, s_nationkey
                                    Filter s_nationkey IS NOT NULL
                                      Scan supplier [s_suppkey, s_acctbal, s_name, s_nationkey]
                              Project n_nationkey, n_regionkey
                                Filter n_regionkey IS NOT NULL
                                  Scan nation [n_nationkey, n_name, n_regionkey]
                          Project r_regionkey
                            Filter r_name IS NOT NULL AND r_name = 'EUROPE'
                              Scan region [r_regionkey, r_name]
              Filter s_nationkey_2 IS NOT NULL
                Scan supplier [s_suppkey_2, s_acctbal_2, s_name_2, s_nationkey_2]
          Filter n_regionkey_2 IS NOT NULL
            Scan nation [n_nationkey_2, n_name_2, n_regionkey_2]
      Project r_regionkey_2
        Filter r_name_2 IS NOT NULL AND r_name_2 = 'EUROPE'
          Scan region [r_regionkey_2, r_name_2]
