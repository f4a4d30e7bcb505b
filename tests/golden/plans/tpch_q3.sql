select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate, o_shippriority from cust,
ord, lineitem where c_mktsegment = 'BUILDING' and c_custkey = o_custkey and l_orderkey = o_orderkey and
o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15' group by l_orderkey, o_orderdate,
o_shippriority
-- plan
Aggregate [l_orderkey, o_orderdate, o_shippriority] l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority
  Project o_orderdate, o_shippriority, l_orderkey, l_extendedprice, l_discount
    Join inner l_orderkey = o_orderkey
      Project o_orderkey, o_orderdate, o_shippriority
        Join inner c_custkey = o_custkey
          Project c_custkey
            Filter c_mktsegment IS NOT NULL AND c_mktsegment = 'BUILDING'
              Scan cust [c_custkey, c_name, c_phone, c_acctbal, c_mktsegment]
          Project o_orderkey, o_custkey, o_orderdate, o_shippriority
            Filter o_orderdate IS NOT NULL AND o_orderdate < 1995-03-15 AND o_custkey IS NOT NULL
              Scan ord [o_orderkey, o_custkey, o_orderstatus, o_orderdate, o_shippriority]
      Project l_orderkey, l_extendedprice, l_discount
        Filter l_shipdate IS NOT NULL AND l_shipdate > 1995-03-15 AND l_orderkey IS NOT NULL
          Scan lineitem [l_orderkey, l_partkey, l_suppkey, l_quantity, l_extendedprice, l_discount, l_shipdate, l_commitdate, l_receiptdate]
