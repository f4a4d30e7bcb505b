select id, row_number() over (partition by cust order by total desc) rn, rank() over (partition by cust order
by total desc) rk, lag(id,1,0L) over (partition by cust order by total) l, sum(total) over (partition by cust
order by id rows between 3 preceding and current row) z, last_value(id) ignore nulls over (partition by cust
order by total) lv, first_value(s) over (partition by cust order by total) fv, nth_value(s,2) over (partition
by cust order by total) nv, collect_list(s) over (partition by cust order by total) cl, sum(total) over
(partition by cust) st, collect_set(s) over (partition by cust) cs from orders
-- plan
Project id, rn, rk, l, z, lv, fv, nv, cl, st_2, sort_array(c_choice_4, true) AS cs
  Window [PARTITION BY cust] sum(total) OVER (ROWS UNBOUNDED PRECEDING TO UNBOUNDED FOLLOWING) AS st_2, collect_set(s) OVER (ROWS UNBOUNDED PRECEDING TO UNBOUNDED FOLLOWING) AS c_choice_4
    Window [PARTITION BY cust ORDER BY id, total, s, rn, rk, l, lv, fv, nv, cl] sum(total) OVER (ROWS -3 TO CURRENT ROW) AS z
      Project id, cust, total, s, rn, rk, l, c_choice AS lv, fv, sort_array(c_choice_2, true).c1[1] AS nv, get_list_field(sort_array(c_choice_3, true), 'c1') AS cl
        Window [PARTITION BY cust ORDER BY total] max_by(id, c_row) OVER (RANGE UNBOUNDED PRECEDING TO CURRENT ROW) AS c_choice, collect_list(named_struct('c0', c_row, 'c1', s)) OVER (RANGE UNBOUNDED PRECEDING TO CURRENT ROW) AS c_choice_2, collect_list(if(s IS NOT NULL, named_struct('c0', c_row, 'c1', s), NULL)) OVER (RANGE UNBOUNDED PRECEDING TO CURRENT ROW) AS c_choice_3
          Window [PARTITION BY cust ORDER BY total, id, s, rn, rk] lag(id, 1, 0) OVER (ROWS -1 TO -1) AS l, nth_value(s, 1) OVER (ROWS UNBOUNDED PRECEDING TO CURRENT ROW) AS fv, row_number() OVER (ROWS UNBOUNDED PRECEDING TO CURRENT ROW) AS c_row
            Window [PARTITION BY cust ORDER BY total DESC] rank() OVER (ROWS UNBOUNDED PRECEDING TO CURRENT ROW) AS rk
              Window [PARTITION BY cust ORDER BY total DESC, id, s] row_number() OVER (ROWS UNBOUNDED PRECEDING TO CURRENT ROW) AS rn
                Project id, cust, total, s
                  Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
