-- case: offsets and short frames
SELECT id, lag(id, 2) OVER w AS a, lead(id) OVER w AS b, sum(id) OVER (PARTITION BY cust ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) AS c FROM orders WINDOW w AS (PARTITION BY cust ORDER BY id)
-- plan
Project id, a, b_2, c
  Window [PARTITION BY cust ORDER BY id] lag(id, 2, NULL) OVER (ROWS -2 TO -2) AS a, lead(id, 1, NULL) OVER (ROWS 1 TO 1) AS b_2, sum(id) OVER (ROWS -3 TO CURRENT ROW) AS c
    Project id, cust
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- reads
Window [PARTITION BY cust ORDER BY id] lag(id, 2, NULL) OVER (ROWS -2 TO -2) AS a, lead(id, 1, NULL) OVER (ROWS 1 TO 1) AS b_2, sum(id) OVER (ROWS -3 TO CURRENT ROW) AS c
  around a change: Nearby(order='id', result='id', descending=False, back=3, ahead=1)
  of a partition: everything
-- case: ranks and running sums resume
SELECT id, row_number() OVER w AS a, sum(id) OVER w AS b FROM orders WINDOW w AS (PARTITION BY cust ORDER BY id DESC)
-- plan
Project id, a, b_2
  Window [PARTITION BY cust ORDER BY id DESC] row_number() OVER (ROWS UNBOUNDED PRECEDING TO CURRENT ROW) AS a, sum(id) OVER (RANGE UNBOUNDED PRECEDING TO CURRENT ROW) AS b_2
    Project id, cust
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- reads
Window [PARTITION BY cust ORDER BY id DESC] row_number() OVER (ROWS UNBOUNDED PRECEDING TO CURRENT ROW) AS a, sum(id) OVER (RANGE UNBOUNDED PRECEDING TO CURRENT ROW) AS b_2
  around a change: Nearby(order='id', result='id', descending=True, back=None, ahead=0)
  of a partition: everything
-- case: a running sum of doubles resumes
SELECT id, sum(d) OVER (PARTITION BY cust ORDER BY id) AS a FROM orders
-- plan
Project id, a
  Window [PARTITION BY cust ORDER BY id] sum(d) OVER (RANGE UNBOUNDED PRECEDING TO CURRENT ROW) AS a
    Project id, d, cust
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- reads
Window [PARTITION BY cust ORDER BY id] sum(d) OVER (RANGE UNBOUNDED PRECEDING TO CURRENT ROW) AS a
  around a change: Nearby(order='id', result='id', descending=False, back=None, ahead=0)
  of a partition: everything
-- case: a running average does not resume
SELECT id, avg(id) OVER (PARTITION BY cust ORDER BY id) AS a FROM orders
-- plan
Project id, a
  Window [PARTITION BY cust ORDER BY id] avg(id) OVER (RANGE UNBOUNDED PRECEDING TO CURRENT ROW) AS a
    Project id, cust
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- reads
Window [PARTITION BY cust ORDER BY id] avg(id) OVER (RANGE UNBOUNDED PRECEDING TO CURRENT ROW) AS a
  around a change: everything
  of a partition: everything
-- case: whole partitions
SELECT id, ntile(4) OVER (PARTITION BY cust ORDER BY id) AS a FROM orders
-- plan
Project id, a
  Window [PARTITION BY cust ORDER BY id] ntile(4) OVER (ROWS UNBOUNDED PRECEDING TO CURRENT ROW) AS a
    Project id, cust
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- reads
Window [PARTITION BY cust ORDER BY id] ntile(4) OVER (ROWS UNBOUNDED PRECEDING TO CURRENT ROW) AS a
  around a change: everything
  of a partition: everything
-- case: a frame that looks too far
SELECT id, sum(id) OVER (PARTITION BY cust ORDER BY id ROWS BETWEEN 20000 PRECEDING AND CURRENT ROW) AS a FROM orders
-- plan
Project id, a
  Window [PARTITION BY cust ORDER BY id] sum(id) OVER (ROWS -20000 TO CURRENT ROW) AS a
    Project id, cust
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- reads
Window [PARTITION BY cust ORDER BY id] sum(id) OVER (ROWS -20000 TO CURRENT ROW) AS a
  around a change: everything
  of a partition: everything
-- case: the first rows of a partition
SELECT id FROM (SELECT id, rank() OVER (PARTITION BY cust ORDER BY day DESC) AS n FROM orders) WHERE n < 4
-- plan
Project id
  Filter n < 4
    Window [PARTITION BY cust ORDER BY day DESC] rank() OVER (ROWS UNBOUNDED PRECEDING TO CURRENT ROW) AS n
      Project id, cust, day
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- reads
Window [PARTITION BY cust ORDER BY day DESC] rank() OVER (ROWS UNBOUNDED PRECEDING TO CURRENT ROW) AS n
  around a change: Nearby(order='day', result='day', descending=True, back=None, ahead=0)
  of a partition: Leading(column='day', descending=True, count=3)
-- case: no order to keep rows in
SELECT id, count(*) OVER (PARTITION BY cust) AS n FROM orders
-- plan
Project id, n
  Window [PARTITION BY cust] count(*) OVER (ROWS UNBOUNDED PRECEDING TO UNBOUNDED FOLLOWING) AS n
    Project id, cust
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- reads
Window [PARTITION BY cust] count(*) OVER (ROWS UNBOUNDED PRECEDING TO UNBOUNDED FOLLOWING) AS n
  around a change: everything
  of a partition: everything
