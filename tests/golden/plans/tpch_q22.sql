select cntrycode, count(*) as numcust, sum(c_acctbal) as totacctbal from (select substring(c_phone, 1, 2) as
cntrycode, c_acctbal from cust where substring(c_phone, 1, 2) in ('13', '31', '23', '29', '30', '18', '17')
and c_acctbal > (select avg(c_acctbal) from cust where c_acctbal > 0.00 and substring(c_phone, 1, 2) in ('13',
'31', '23', '29', '30', '18', '17')) and not exists (select * from ord where o_custkey = c_custkey)) as
custsale group by cntrycode order by cntrycode
-- plan
Aggregate [cntrycode] cntrycode, count(*) AS numcust, sum(c_acctbal) AS totacctbal
  Project substring(c_phone, 1, 2) AS cntrycode, c_acctbal
    Join anti o_custkey = c_custkey
      Project c_custkey, c_phone, c_acctbal
        Filter cast(c_acctbal AS decimal(16,6)) > `avg(c_acctbal)`
          Join inner
            Project c_custkey, c_phone, c_acctbal
              Filter c_acctbal IS NOT NULL AND substring(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17')
                Scan cust [c_custkey, c_name, c_phone, c_acctbal, c_mktsegment]
            Aggregate [] avg(c_acctbal_2) AS `avg(c_acctbal)`
              Project c_acctbal_2
                Filter c_acctbal_2 IS NOT NULL AND c_acctbal_2 > 0.00 AND substring(c_phone_2, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17')
                  Scan cust [c_custkey_2, c_name_2, c_phone_2, c_acctbal_2, c_mktsegment_2]
      Project o_custkey
        Scan ord [o_orderkey, o_custkey, o_orderstatus, o_orderdate, o_shippriority]
