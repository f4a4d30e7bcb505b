select from_json(s, 'a int') j, get_json_object(s, '$.a') g from orders
-- plan
Project from_json(StructField(a,IntegerType,true), s, Some(UTC), false) AS j, get_json_object(s, $.a) AS g
  Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
