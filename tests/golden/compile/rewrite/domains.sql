-- case: the rows of a DISTINCT are told apart by its columns
SELECT c.name, o.day FROM customers c JOIN (SELECT DISTINCT cust, day FROM orders WHERE day IS NOT NULL) o ON c.cust = o.cust
-- operators
Project name, day
  no columns are known to be unique; never NULL: none
Join inner cust = cust_2
  no columns are known to be unique; never NULL: cust
Project cust, name
  no columns are known to be unique; never NULL: cust
Scan customers [cust, name, region]
  no columns are known to be unique; never NULL: cust
Aggregate [cust_2, day] cust_2, day
  unique: cust_2, day; never NULL: cust_2, day
Project cust_2, day
  no columns are known to be unique; never NULL: cust_2, day
Filter day IS NOT NULL AND cust_2 IS NOT NULL
  no columns are known to be unique; never NULL: cust_2, day, id
Scan orders [id, cust_2, total, d, day, ts, s, b, arr, m, st]
  no columns are known to be unique; never NULL: id
-- narrowed
nothing
-- case: unless one of them is dropped
SELECT cust AS c FROM (SELECT DISTINCT cust, day FROM orders)
-- operators
Aggregate [cust, day] cust AS c
  no columns are known to be unique; never NULL: none
Project cust, day
  no columns are known to be unique; never NULL: none
Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
  no columns are known to be unique; never NULL: id
-- narrowed
nothing
-- case: an aggregate with functions is no DISTINCT
SELECT cust, count(*) AS n FROM orders GROUP BY cust
-- operators
Aggregate [cust] cust, count(*) AS n
  no columns are known to be unique; never NULL: n
Project cust
  no columns are known to be unique; never NULL: none
Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
  no columns are known to be unique; never NULL: id
-- narrowed
nothing
-- case: a nested aggregate is asked for what the other side has
SELECT q.id, (SELECT sum(a.total) FROM orders a WHERE a.cust = q.cust AND a.id <= q.id) AS so_far FROM orders q
-- operators
Project id, `sum(total)` AS so_far
  no columns are known to be unique; never NULL: id
Join left id_3 <=> id AND cust_3 = cust
  no columns are known to be unique; never NULL: id
Project id, cust
  no columns are known to be unique; never NULL: id
Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
  no columns are known to be unique; never NULL: id
Aggregate [id_3, cust_3] sum(total_3) AS `sum(total)`, id_3, cust_3
  no columns are known to be unique; never NULL: id_3
Project id_3, cust_3, total_3
  no columns are known to be unique; never NULL: id_3
Join inner id_4 <= id_3
  no columns are known to be unique; never NULL: id_3, id_4
Aggregate [id_2] id_2 AS id_3
  unique: id_3; never NULL: id_3
Project id_2
  no columns are known to be unique; never NULL: id_2
Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
  no columns are known to be unique; never NULL: id_2
Project id_4, cust_3, total_3
  no columns are known to be unique; never NULL: cust_3, id_4
Filter cust_3 IS NOT NULL
  no columns are known to be unique; never NULL: cust_3, id_4
Scan orders [id_4, cust_3, total_3, d_3, day_3, ts_3, s_3, b_3, arr_3, m_3, st_3]
  no columns are known to be unique; never NULL: id_4
-- narrowed
Join left id_3 <=> id AND cust_3 = cust
  #1 := Project id, cust
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
  Aggregate [id_3, _of_cust_3] sum(total_3) AS `sum(total)`, id_3, _of_cust_3 AS cust_3
    Join inner cust_3 = _of_cust_3 AND id_4 <= id_3
      Aggregate [id_3, _of_cust_3] id_3, _of_cust_3
        Join inner id_3 <=> _of_id_3
          Aggregate [id_2] id_2 AS id_3
            Project id_2
              Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
          Project id AS _of_id_3, cust AS _of_cust_3
            #1
      Project id_4, cust_3, total_3
        Filter cust_3 IS NOT NULL
          Scan orders [id_4, cust_3, total_3, d_3, day_3, ts_3, s_3, b_3, arr_3, m_3, st_3]
