SELECT cust, session_window.start AS t, sum(total) AS s
FROM orders
GROUP BY cust, session_window(ts, CASE WHEN cust = 1 THEN '5 minutes' ELSE '1 day' END)
-- program
view v → cust, t, s
  Aggregate [cust, session_window] cust, session_window.start AS t, sum(total) AS s_2  ring
    Sessions [cust] session_window                                            keyed  (a change reaches the sessions that it meets)
      Project named_struct('start', precise_time(precise_time(ts)), 'end', precise_time(precise_time(add_micros(ts, CASE WHEN cust = 1 THEN 300000000 ELSE 86400000000 END)))) AS session_window, cust, total  ring
        Filter ts IS NOT NULL AND precise_time(precise_time(add_micros(ts, CASE WHEN cust = 1 THEN 300000000 ELSE 86400000000 END))) > precise_time(precise_time(ts))  ring
          Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m2 [cust] := Sessions [cust] session_window, by cust, time
  v.m3 [cust, session_window] := Sum[cust, session_window](sum(total))
  v [cust, t, s_2] := the view
on orders
  v.m1 += π(cust, total, session_window.start → _t1, session_window.end → _t2)(π(named_struct('start', precise_time(precise_time(ts)), 'end', precise_time(precise_time(add_micros(ts, CASE WHEN cust = 1 THEN 300000000 ELSE 86400000000 END)))) → session_window, cust, total)(σ(ts IS NOT NULL AND precise_time(precise_time(add_micros(ts, CASE WHEN cust = 1 THEN 300000000 ELSE 86400000000 END))) > precise_time(precise_time(ts)))(Δorders)))
  v.m2 += gather[cust](_t1 – _t2 · Δv.m1, what it meets of v.m2)
  v.m3 += Sum[cust, session_window](sum(_x0) · π(cust, named_struct('start', _s3, 'end', _s4) → session_window, total → _x0)(Δv.m2))
  v += π(cust, session_window.start → t, _a5 → s_2)(answer[cust, session_window](Δv.m3))
