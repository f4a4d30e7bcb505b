-- case: min and max read the first rows of a group
SELECT cust, min(total) AS least, max(day) AS latest FROM orders GROUP BY cust
-- program
view v → cust, least, latest
  Aggregate [cust] cust, min(total) AS least, max(day) AS latest              keyed  (min is not a sum; only the first rows of a group are read, in order)
    Project cust, total, day                                                  ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [cust] := Project cust, total, day, by cust
  v [_key] := Aggregate [cust] cust, min(total) AS least, max(day) AS latest
on orders
  v.m1 += π(cust, total, day)(Δorders)
  v += aggregate(the first rows of touched groups of v.m1′) − v
-- case: one percentile reads the rows around it
SELECT cust, percentile(id, 0.5) AS middle FROM orders GROUP BY cust
-- program
view v → cust, middle
  Aggregate [cust] cust, percentile(id, 0.5, 1) AS middle                     keyed  (percentile is not a sum; only rows around it are read, in order)
    Project id, cust                                                          ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [cust] := Project id, cust, by cust
  v [_key] := Aggregate [cust] cust, percentile(id, 0.5, 1) AS middle
on orders
  v.m1 += π(id, cust)(Δorders)
  v += aggregate(rows by rank of touched groups of v.m1′) − v
-- case: a list reads the whole group
SELECT cust, collect_list(id) AS ids FROM orders GROUP BY cust
-- program
view v → cust, ids
  Aggregate [cust] cust, sort_array(collect_list(id), true) AS ids            keyed  (collect_list is not a sum)
    Project id, cust                                                          ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [cust] := Project id, cust, by cust
  v [_key] := Aggregate [cust] cust, sort_array(collect_list(id), true) AS ids
on orders
  v.m1 += π(id, cust)(Δorders)
  v += aggregate(touched groups of v.m1′) − v
-- case: a group of everything
SELECT max(total) AS most FROM orders
-- program
view v → most
  Aggregate [] max(total) AS most                                             keyed  (max is not a sum; only the first rows of a group are read, in order)
    Project total                                                             ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [] := Project total
  v [_key] := Aggregate [] max(total) AS most
on orders
  v.m1 += π(total)(Δorders)
  v += aggregate(the first rows of v.m1′) − v
-- case: a running window resumes
SELECT id, sum(id) OVER (PARTITION BY cust ORDER BY id) AS so_far FROM orders
-- program
view v → id, so_far
  Project id, so_far                                                          ring
    Window [PARTITION BY cust ORDER BY id] sum(id) OVER (RANGE UNBOUNDED PRECEDING TO CURRENT ROW) AS so_far  keyed  (a change affects all rows after it)
      Project id, cust                                                        ring
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [cust] := Project id, cust, by cust
  v.m2 [_key] := Window [PARTITION BY cust ORDER BY id] sum(id) OVER (RANGE UNBOUNDED PRECEDING TO CURRENT ROW) AS so_far
  v [id, so_far] := the view
on orders
  v.m1 += π(id, cust)(Δorders)
  v.m2 += window(the affected rows of v.m1′) − v.m2
  v += π(id, so_far)(Δv.m2)
-- case: a short frame reads the rows nearby
SELECT id, lag(day) OVER (PARTITION BY cust ORDER BY id) AS before FROM orders
-- program
view v → id, before
  Project id, before                                                          keyed  (evaluated within the operator below)
    Window [PARTITION BY cust ORDER BY id, day] lag(day, 1, NULL) OVER (ROWS -1 TO -1) AS before  keyed  (a change affects 1 row after it, and rows tied with them)
      Project id, day, cust                                                   ring
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [cust] := Project id, day, cust, by cust
  v [_key] := Window [PARTITION BY cust ORDER BY id, day] lag(day, 1, NULL) OVER (ROWS -1 TO -1) AS before
on orders
  v.m1 += π(id, day, cust)(Δorders)
  v += project(the affected rows of v.m1′) − v
-- case: a window of whole partitions
SELECT id, percent_rank() OVER (PARTITION BY cust ORDER BY day) AS share FROM orders
-- program
view v → id, share
  Project id, share                                                           keyed  (evaluated within the operator below)
    Window [PARTITION BY cust ORDER BY day] percent_rank() OVER (ROWS UNBOUNDED PRECEDING TO CURRENT ROW) AS share  keyed  (a window reads its whole partition)
      Project id, cust, day                                                   ring
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [cust] := Project id, cust, day, by cust
  v [_key] := Window [PARTITION BY cust ORDER BY day] percent_rank() OVER (ROWS UNBOUNDED PRECEDING TO CURRENT ROW) AS share
on orders
  v.m1 += π(id, cust, day)(Δorders)
  v += project(touched groups of v.m1′) − v
-- case: the first rows of everything
SELECT id, total FROM orders ORDER BY total DESC, id LIMIT 10 OFFSET 5
-- program
view v → id, total
  Top 10 OFFSET 5 ORDER BY total DESC, id                                     keyed  (kept as the first 15 rows with 79 in reserve; when the reserve runs out, the first rows are read in order)
    Project id, total                                                         ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [id, total] := Project id, total
  v.m2 [id, total, _first1] := the first rows of v.m1, with a reserve
  v [id, total] := the view
on orders
  v.m1 += π(id, total)(Δorders)
  v.m2 += top-k[total DESC, id](Δv.m1, 15 + 79)
  v += π(id, total)(σ(_first1)(Δv.m2))
-- case: the first rows of what only grows
-- facts: {"growing": ["orders"]}
SELECT id, total FROM orders ORDER BY total DESC, id LIMIT 10
-- program
view v → id, total
  Top 10 ORDER BY total DESC, id                                              monoid  (its input only grows: the first 10 rows are kept, no others)
    Project id, total                                                         ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m2 [id, total, _first1] := the first rows of v.m1, with a reserve
  v [id, total] := the view
on orders
  v.m1 += π(id, total)(Δorders)
  v.m2 += top-k[total DESC, id](Δv.m1, 10 + 0)
  v += π(id, total)(σ(_first1)(Δv.m2))
-- case: an offset without a limit
SELECT id FROM orders ORDER BY id OFFSET 10
-- program
view v → id
  Top OFFSET 10 ORDER BY id                                                   recompute  (a global LIMIT has no key)
    Project id                                                                ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m1 [] := Project id
  v [_key] := Top OFFSET 10 ORDER BY id
on orders
  v.m1 += π(id)(Δorders)
  v += top(all of v.m1′) − v
-- case: an operator that only Spark runs
SELECT id FROM range(5000) WHERE id > 3
-- program
view v → id
  Filter id > 3                                                               ring
    Spark Range (0, 5000, step=1) [id]: constants of type range() with more than 1000 rows are kept by Spark alone  recompute  (constants of type range() with more than 1000 rows are kept by Spark alone; on Spark: constant rows belong to no group)
maps
  v.m1 [_key] := Spark Range (0, 5000, step=1) [id]: constants of type range() with more than 1000 rows are kept by Spark alone
  v [id] := the view
on creation
  v.m1 += operator() on Spark − v.m1
