-- case: NULL on both sides
SELECT id FROM orders WHERE cust NOT IN (SELECT total FROM orders)
-- plan
Project id
  Join anti (cast(cust AS decimal(22,2)) = total_3 OR (cast(cust AS decimal(22,2)) = total_3) IS NULL)
    Project id, cust
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Project cast(total_2 AS decimal(22,2)) AS total_3
      Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
-- rewritten
Project id
  Union [id, cust]
    Project id, cust
      Join anti _in_left = _in_right
        Project id, cust, 1 AS _in_left
          Join anti cast(cust AS decimal(22,2)) = total_3
            Filter cast(cust AS decimal(22,2)) IS NOT NULL
              #1 := Project id, cust
                Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
            #2 := Project cast(total_2 AS decimal(22,2)) AS total_3
              Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
        Project 1 AS _in_right
          Filter total_3 IS NULL
            #2
    Project id, cust
      Join anti _in_left = _in_right
        Project id, cust, 1 AS _in_left
          Filter cast(cust AS decimal(22,2)) IS NULL
            #1
        Project 1 AS _in_right
          #2
-- case: no column is NULL, which the ring finds out
SELECT id FROM orders WHERE id NOT IN (SELECT cust FROM customers)
-- plan
Join anti (id = cust_2 OR (id = cust_2) IS NULL)
  Project id
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
  Project cust_2
    Scan customers [cust_2, name, region]
-- rewritten
Union [id]
  Project id
    Join anti _in_left = _in_right
      Project id, 1 AS _in_left
        Join anti id = cust_2
          Filter id IS NOT NULL
            #1 := Project id
              Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
          #2 := Project cust_2
            Scan customers [cust_2, name, region]
      Project 1 AS _in_right
        Filter cust_2 IS NULL
          #2
  Project id
    Join anti _in_left = _in_right
      Project id, 1 AS _in_left
        Filter id IS NULL
          #1
      Project 1 AS _in_right
        #2
-- case: a correlated one is left as it is
SELECT id FROM orders o WHERE cust NOT IN (SELECT c.cust FROM customers c WHERE c.name = o.s)
-- plan
Project id
  Join anti (cust = cust_2 OR (cust = cust_2) IS NULL) AND name = s
    Project id, cust, s
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Project cust_2, name
      Scan customers [cust_2, name, region]
-- rewritten
Project id
  Join anti (cust = cust_2 OR (cust = cust_2) IS NULL) AND name = s
    Project id, cust, s
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Project cust_2, name
      Scan customers [cust_2, name, region]
-- case: an expression
SELECT id FROM orders WHERE cust + 1 NOT IN (SELECT length(name) FROM customers)
-- plan
Project id
  Join anti (cust + 1 = `length(name)` OR (cust + 1 = `length(name)`) IS NULL)
    Project id, cust
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Project cast(length(name) AS bigint) AS `length(name)`
      Scan customers [cust_2, name, region]
-- rewritten
Project id
  Union [id, cust]
    Project id, cust
      Join anti _in_left = _in_right
        Project id, cust, 1 AS _in_left
          Join anti cust + 1 = `length(name)`
            Filter cust + 1 IS NOT NULL
              #1 := Project id, cust
                Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
            #2 := Project cast(length(name) AS bigint) AS `length(name)`
              Scan customers [cust_2, name, region]
        Project 1 AS _in_right
          Filter `length(name)` IS NULL
            #2
    Project id, cust
      Join anti _in_left = _in_right
        Project id, cust, 1 AS _in_left
          Filter cust + 1 IS NULL
            #1
        Project 1 AS _in_right
          #2
