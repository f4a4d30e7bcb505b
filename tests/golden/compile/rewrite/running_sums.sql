-- case: a sum up to a bound
SELECT q.id, (SELECT sum(a.total) FROM orders a WHERE a.id > q.id) AS above FROM orders q
-- plan
Project id, `sum(total)` AS above
  Join left id_3 <=> id
    Project id
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Aggregate [id_3] sum(total_3) AS `sum(total)`, id_3
      Project id_3, total_3
        Join inner id_4 > id_3
          Aggregate [id_2] id_2 AS id_3
            Project id_2
              Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
          Project id_4, total_3
            Scan orders [id_4, cust_3, total_3, d_3, day_3, ts_3, s_3, b_3, arr_3, m_3, st_3]
-- rewritten
Project id, `sum(total)` AS above
  Join left id_3 <=> id
    Project id
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Project _r1_1 AS `sum(total)`, id_3
      Filter _asks1 AND _r1_0 > 0
        Window [ORDER BY id_3 DESC NULLS FIRST, _asks1 DESC NULLS FIRST] sum(_s1_0) OVER (RANGE UNBOUNDED PRECEDING TO CURRENT ROW) AS _r1_0, sum(_s1_1) OVER (RANGE UNBOUNDED PRECEDING TO CURRENT ROW) AS _r1_1
          Union [id_3, _asks1, _s1_0, _s1_1]
            Project id_3, true AS _asks1, NULL AS _s1_0, NULL AS _s1_1
              Aggregate [id_2] id_2 AS id_3
                Project id_2
                  Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
            Aggregate [id_4] id_4 AS id_3, false AS _asks1, count(*) AS _s1_0, sum(total_3) AS _s1_1
              Project id_4, total_3
                Scan orders [id_4, cust_3, total_3, d_3, day_3, ts_3, s_3, b_3, arr_3, m_3, st_3]
-- case: an equality beside the inequality
SELECT q.id, (SELECT sum(a.total) FROM orders a WHERE a.cust = q.cust AND a.id <= q.id) AS so_far FROM orders q
-- plan
Project id, `sum(total)` AS so_far
  Join left id_3 <=> id AND cust_3 = cust
    Project id, cust
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Aggregate [id_3, cust_3] sum(total_3) AS `sum(total)`, id_3, cust_3
      Project id_3, cust_3, total_3
        Join inner id_4 <= id_3
          Aggregate [id_2] id_2 AS id_3
            Project id_2
              Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
          Project id_4, cust_3, total_3
            Filter cust_3 IS NOT NULL
              Scan orders [id_4, cust_3, total_3, d_3, day_3, ts_3, s_3, b_3, arr_3, m_3, st_3]
-- rewritten
Project id, `sum(total)` AS so_far
  Join left id_3 <=> id AND cust_3 = cust
    #1 := Project id, cust
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Project _r1_1 AS `sum(total)`, id_3, _of_cust_3 AS cust_3
      Filter _asks1 AND _r1_0 > 0
        Window [PARTITION BY _of_cust_3 ORDER BY id_3, _asks1] sum(_s1_0) OVER (RANGE UNBOUNDED PRECEDING TO CURRENT ROW) AS _r1_0, sum(_s1_1) OVER (RANGE UNBOUNDED PRECEDING TO CURRENT ROW) AS _r1_1
          Union [_of_cust_3, id_3, _asks1, _s1_0, _s1_1]
            Project _of_cust_3, id_3, true AS _asks1, NULL AS _s1_0, NULL AS _s1_1
              Filter _of_cust_3 IS NOT NULL
                Aggregate [id_3, _of_cust_3] id_3, _of_cust_3
                  Join inner id_3 <=> _of_id_3
                    Aggregate [id_2] id_2 AS id_3
                      Project id_2
                        Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
                    Project id AS _of_id_3, cust AS _of_cust_3
                      #1
            Aggregate [cust_3, id_4] cust_3 AS _of_cust_3, id_4 AS id_3, false AS _asks1, count(*) AS _s1_0, sum(total_3) AS _s1_1
              Project id_4, cust_3, total_3
                Filter cust_3 IS NOT NULL
                  Scan orders [id_4, cust_3, total_3, d_3, day_3, ts_3, s_3, b_3, arr_3, m_3, st_3]
-- case: a sum of BIGINT runs as a decimal
SELECT q.id, (SELECT sum(a.cust) FROM orders a WHERE a.day < q.day) AS before FROM orders q
-- plan
Project id, `sum(cust)` AS before
  Join left day_3 <=> day
    Project id, day
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Aggregate [day_3] sum(cust_3) AS `sum(cust)`, day_3
      Project day_3, cust_3
        Join inner day_4 < day_3
          Aggregate [day_2] day_2 AS day_3
            Project day_2
              Filter day_2 IS NOT NULL
                Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
          Project cust_3, day_4
            Filter day_4 IS NOT NULL
              Scan orders [id_3, cust_3, total_3, d_3, day_4, ts_3, s_3, b_3, arr_3, m_3, st_3]
-- rewritten
Project id, `sum(cust)` AS before
  Join left day_3 <=> day
    Project id, day
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Project cast(_r1_1 AS bigint) AS `sum(cust)`, day_3
      Filter _asks1 AND _r1_0 > 0
        Window [ORDER BY day_3, _asks1 DESC NULLS FIRST] sum(_s1_0) OVER (RANGE UNBOUNDED PRECEDING TO CURRENT ROW) AS _r1_0, sum(_s1_1) OVER (RANGE UNBOUNDED PRECEDING TO CURRENT ROW) AS _r1_1
          Union [day_3, _asks1, _s1_0, _s1_1]
            Project day_3, true AS _asks1, NULL AS _s1_0, NULL AS _s1_1
              Aggregate [day_2] day_2 AS day_3
                Project day_2
                  Filter day_2 IS NOT NULL
                    Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
            Aggregate [day_4] day_4 AS day_3, false AS _asks1, count(*) AS _s1_0, sum(cast(cust_3 AS decimal(19,0))) AS _s1_1
              Project cust_3, day_4
                Filter day_4 IS NOT NULL
                  Scan orders [id_3, cust_3, total_3, d_3, day_4, ts_3, s_3, b_3, arr_3, m_3, st_3]
-- case: a double is not added up exactly
SELECT q.id, (SELECT sum(a.d) FROM orders a WHERE a.id > q.id) AS above FROM orders q
-- plan
Project id, `sum(d)` AS above
  Join left id_3 <=> id
    Project id
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Aggregate [id_3] sum(d_3) AS `sum(d)`, id_3
      Project id_3, d_3
        Join inner id_4 > id_3
          Aggregate [id_2] id_2 AS id_3
            Project id_2
              Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
          Project id_4, d_3
            Scan orders [id_4, cust_3, total_3, d_3, day_3, ts_3, s_3, b_3, arr_3, m_3, st_3]
-- rewritten
Project id, `sum(d)` AS above
  Join left id_3 <=> id
    Project id
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Aggregate [id_3] sum(d_3) AS `sum(d)`, id_3
      Project id_3, d_3
        Join inner id_4 > id_3
          Aggregate [id_2] id_2 AS id_3
            Project id_2
              Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
          Project id_4, d_3
            Scan orders [id_4, cust_3, total_3, d_3, day_3, ts_3, s_3, b_3, arr_3, m_3, st_3]
-- case: two inequalities
SELECT q.id, (SELECT sum(a.total) FROM orders a WHERE a.id > q.id AND a.day < q.day) AS above FROM orders q
-- plan
Project id, `sum(total)` AS above
  Join left day_3 <=> day AND id_3 <=> id
    Project id, day
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Aggregate [day_3, id_3] sum(total_3) AS `sum(total)`, day_3, id_3
      Project day_3, id_3, total_3
        Join inner id_4 > id_3 AND day_4 < day_3
          Aggregate [day_2, id_2] day_2 AS day_3, id_2 AS id_3
            Project id_2, day_2
              Filter day_2 IS NOT NULL
                Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
          Project id_4, total_3, day_4
            Filter day_4 IS NOT NULL
              Scan orders [id_4, cust_3, total_3, d_3, day_4, ts_3, s_3, b_3, arr_3, m_3, st_3]
-- rewritten
Project id, `sum(total)` AS above
  Join left day_3 <=> day AND id_3 <=> id
    Project id, day
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Aggregate [day_3, id_3] sum(total_3) AS `sum(total)`, day_3, id_3
      Project day_3, id_3, total_3
        Join inner id_4 > id_3 AND day_4 < day_3
          Aggregate [day_2, id_2] day_2 AS day_3, id_2 AS id_3
            Project id_2, day_2
              Filter day_2 IS NOT NULL
                Scan orders [id_2, cust_2, total_2, d_2, day_2, ts_2, s_2, b_2, arr_2, m_2, st_2]
          Project id_4, total_3, day_4
            Filter day_4 IS NOT NULL
              Scan orders [id_4, cust_3, total_3, d_3, day_4, ts_3, s_3, b_3, arr_3, m_3, st_3]
