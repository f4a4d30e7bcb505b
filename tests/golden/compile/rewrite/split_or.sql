-- case: a semi join on either of two equalities
SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM customers c WHERE c.cust = o.cust OR c.name = o.s)
-- plan
Project id
  Join semi (cust_2 = cust OR name = s)
    Project id, cust, s
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Project cust_2, name
      Scan customers [cust_2, name, region]
-- rewritten
Project id
  Union [id, cust, s]
    Join semi cust_2 = cust
      #1 := Project id, cust, s
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
      #2 := Project cust_2, name
        Scan customers [cust_2, name, region]
    Join semi name = s
      Join anti cust_2 = cust
        #1
        #2
      #2
-- case: an anti join on either, with a condition beside them
SELECT id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM customers c WHERE c.region = 'x' AND (c.cust = o.cust OR c.name = o.s))
-- plan
Project id
  Join anti (cust_2 = cust OR name = s)
    Project id, cust, s
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Project cust_2, name
      Filter region IS NOT NULL AND region = 'x'
        Scan customers [cust_2, name, region]
-- rewritten
Project id
  Join anti name = s
    Join anti cust_2 = cust
      Project id, cust, s
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
      #1 := Project cust_2, name
        Filter region IS NOT NULL AND region = 'x'
          Scan customers [cust_2, name, region]
    #1
-- case: nothing connects the sides
SELECT id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM customers c WHERE o.cust > 3 OR c.region = 'x')
-- plan
Project id
  Join anti (cust > 3 OR region = 'x')
    Project id, cust
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Project region
      Scan customers [cust_2, name, region]
-- rewritten
Project id
  Project id, cust
    Join anti region = 'x' AND _any_left = _any_right
      Project id, cust, 1 AS _any_left
        Project id, cust
          Join anti cust > 3 AND _any_left = _any_right
            Project id, cust, 1 AS _any_left
              Project id, cust
                Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
            Project region, 1 AS _any_right
              #1 := Project region
                Scan customers [cust_2, name, region]
      Project region, 1 AS _any_right
        #1
-- case: an alternative without a key is left as it is
SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM customers c WHERE c.cust = o.cust OR c.cust + o.cust = 7)
-- plan
Project id
  Join semi (cust_2 = cust OR cust_2 + cust = 7)
    Project id, cust
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Project cust_2
      Scan customers [cust_2, name, region]
-- rewritten
Project id
  Join semi (cust_2 = cust OR cust_2 + cust = 7)
    Project id, cust
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Project cust_2
      Scan customers [cust_2, name, region]
