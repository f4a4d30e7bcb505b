select o.id, t.b from orders o join (values (1, 'a'), (2, 'b')) t(a, b) on o.id = t.a
-- plan
Project id, b_2
  Join inner id = cast(a AS bigint)
    Project id
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Values [a, b_2] (1, 'a'), (2, 'b')
