select a.id, b.name from orders a full outer join customers b on a.cust = b.cust and b.region = 'x'
-- plan
Project id, name
  Join full cust = cust_2 AND region = 'x'
    Project id, cust
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Scan customers [cust_2, name, region]
