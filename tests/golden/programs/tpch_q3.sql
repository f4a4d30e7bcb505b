select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate, o_shippriority from cust,
ord, lineitem where c_mktsegment = 'BUILDING' and c_custkey = o_custkey and l_orderkey = o_orderkey and
o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15' group by l_orderkey, o_orderdate,
o_shippriority
-- program
view v → l_orderkey, revenue, o_orderdate, o_shippriority
  Aggregate [l_orderkey, o_orderdate, o_shippriority] l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority  ring
    Project o_orderdate, o_shippriority, l_orderkey, l_extendedprice, l_discount  ring
      Join inner l_orderkey = o_orderkey                                      ring
        Project o_orderkey, o_orderdate, o_shippriority                       ring
          Join inner c_custkey = o_custkey                                    ring
            Project c_custkey                                                 ring
              Filter c_mktsegment IS NOT NULL AND c_mktsegment = 'BUILDING'   ring
                Scan cust [c_custkey, c_name, c_phone, c_acctbal, c_mktsegment]
            Project o_orderkey, o_custkey, o_orderdate, o_shippriority        ring
              Filter o_orderdate IS NOT NULL AND o_orderdate < 1995-03-15 AND o_custkey IS NOT NULL  ring
                Scan ord [o_orderkey, o_custkey, o_orderstatus, o_orderdate, o_shippriority]
        Project l_orderkey, l_extendedprice, l_discount                       ring
          Filter l_shipdate IS NOT NULL AND l_shipdate > 1995-03-15 AND l_orderkey IS NOT NULL  ring
            Scan lineitem [l_orderkey, l_partkey, l_suppkey, l_quantity, l_extendedprice, l_discount, l_shipdate, l_commitdate, l_receiptdate]
maps
  v.m1 [c_custkey] := cust → c_custkey
  v.m2 [l_orderkey] := Sum[l_orderkey](lineitem)
  v.m3 [o_custkey], also by [o_orderkey] := ord → o_custkey, o_orderkey, o_orderdate, o_shippriority
  v.m4 [l_orderkey, o_orderdate, o_shippriority] := Sum[l_orderkey, o_orderdate, o_shippriority](sum(l_extendedprice * (1 - l_discount)))
  v [l_orderkey, revenue, o_orderdate, o_shippriority] := the view
on cust
  v.m1 += π(c_custkey)(σ(c_mktsegment IS NOT NULL AND c_mktsegment = 'BUILDING')(Δcust))
  v.m4 += Sum[l_orderkey, o_orderdate, o_shippriority](_a0 = _w1·_w5·_s3, _a0_n = _w1·_w5·_s3_n · Δv.m1 ⋈[c_custkey = o_custkey] v.m3 ⋈[o_orderkey = l_orderkey] v.m2)
  v += π(l_orderkey, _a6 → revenue, o_orderdate, o_shippriority)(answer[l_orderkey, o_orderdate, o_shippriority](Δv.m4))
on lineitem
  v.m2 += Sum[l_orderkey](sum(_x2) · π(l_orderkey, l_extendedprice * (1 - l_discount) → _x2)(σ(l_shipdate IS NOT NULL AND l_shipdate > 1995-03-15 AND l_orderkey IS NOT NULL)(Δlineitem)))
  v.m4 += Sum[l_orderkey, o_orderdate, o_shippriority](_a0 = _s3·_w5·_w1, _a0_n = _s3_n·_w5·_w1 · Δv.m2 ⋈[l_orderkey = o_orderkey] v.m3 ⋈[o_custkey = c_custkey] v.m1′)
  v += π(l_orderkey, _a6 → revenue, o_orderdate, o_shippriority)(answer[l_orderkey, o_orderdate, o_shippriority](Δv.m4))
on ord
  v.m3 += π(o_custkey, o_orderkey, o_orderdate, o_shippriority)(σ(o_orderdate IS NOT NULL AND o_orderdate < 1995-03-15 AND o_custkey IS NOT NULL)(Δord))
  v.m4 += Sum[l_orderkey, o_orderdate, o_shippriority](_a0 = _w5·_w1·_s3, _a0_n = _w5·_w1·_s3_n · Δv.m3 ⋈[o_custkey = c_custkey] v.m1′ ⋈[o_orderkey = l_orderkey] v.m2′)
  v += π(l_orderkey, _a6 → revenue, o_orderdate, o_shippriority)(answer[l_orderkey, o_orderdate, o_shippriority](Δv.m4))
weighed
  cust ⋈ ord as one map: saves 917, costs 3,250 rows per 100 changed: not kept
  lineitem ⋈ ord as one map: saves 917, costs 3,917 rows per 100 changed: not kept
