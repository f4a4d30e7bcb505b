select id from orders except all select cust from customers
-- plan
Project id_3
  Generate replicate_rows(sum, id_2) AS id_3 [id_2, id_3]
    Filter sum IS NOT NULL AND sum > 0
      Aggregate [id_2] id_2, sum(vcol_3) AS sum
        Union [vcol_3, id_2]
          Project 1 AS vcol, id
            Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
          Project -1 AS vcol_2, cust_2
            Scan customers [cust_2, name, region]
