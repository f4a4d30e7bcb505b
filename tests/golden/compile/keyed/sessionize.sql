-- case: by a column
SELECT cust, session_window.end AS until, count(*) AS n FROM orders GROUP BY cust, session_window(ts, '5 minutes')
-- plan
Aggregate [cust, session_window] cust, session_window.end AS until, count(*) AS n
  Sessions [cust] session_window
    Project named_struct('start', precise_time(precise_time(ts)), 'end', precise_time(precise_time(add_micros(ts, 300000000)))) AS session_window, cust
      Filter ts IS NOT NULL
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- rewritten
Aggregate [cust, session_window] cust, session_window.end AS until, count(*) AS n
  Sessions [cust] session_window
    Project named_struct('start', precise_time(precise_time(ts)), 'end', precise_time(precise_time(add_micros(ts, 300000000)))) AS session_window, cust
      Filter ts IS NOT NULL
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- program
view v → cust, until, n
  Aggregate [cust, session_window] cust, session_window.end AS until, count(*) AS n  ring
    Sessions [cust] session_window                                            keyed  (a change affects the sessions that it touches)
      Project named_struct('start', precise_time(precise_time(ts)), 'end', precise_time(precise_time(add_micros(ts, 300000000)))) AS session_window, cust  ring
        Filter ts IS NOT NULL                                                 ring
          Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m2 [cust] := Sessions [cust] session_window, by cust, time
  v.m3 [cust, session_window] := Sum[cust, session_window](count(*))
  v [cust, until, n] := the view
on orders
  v.m1 += π(cust, session_window.start → _t1, session_window.end → _t2)(π(named_struct('start', precise_time(precise_time(ts)), 'end', precise_time(precise_time(add_micros(ts, 300000000)))) → session_window, cust)(σ(ts IS NOT NULL)(Δorders)))
  v.m2 += sessionize[cust](_t1 – _t2 · Δv.m1, what it meets of v.m2)
  v.m3 += Sum[cust, session_window](count(*) · π(cust, named_struct('start', _s3, 'end', _s4) → session_window)(Δv.m2))
  v += π(cust, session_window.end → until, _a6 → n)(finalize[cust, session_window](Δv.m3))
-- case: of everything
SELECT session_window, sum(total) AS total FROM orders GROUP BY session_window(ts, '5 minutes')
-- plan
Aggregate [session_window] session_window, sum(total) AS total_2
  Sessions [] session_window
    Project named_struct('start', precise_time(precise_time(ts)), 'end', precise_time(precise_time(add_micros(ts, 300000000)))) AS session_window, total
      Filter ts IS NOT NULL
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- rewritten
Aggregate [session_window] session_window, sum(total) AS total_2
  Sessions [] session_window
    Project named_struct('start', precise_time(precise_time(ts)), 'end', precise_time(precise_time(add_micros(ts, 300000000)))) AS session_window, total
      Filter ts IS NOT NULL
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- program
view v → session_window, total
  Aggregate [session_window] session_window, sum(total) AS total_2            ring
    Sessions [] session_window                                                keyed  (a change affects the sessions that it touches)
      Project named_struct('start', precise_time(precise_time(ts)), 'end', precise_time(precise_time(add_micros(ts, 300000000)))) AS session_window, total  ring
        Filter ts IS NOT NULL                                                 ring
          Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m2 [] := Sessions [] session_window, by time
  v.m3 [session_window] := Sum[session_window](sum(total))
  v [session_window, total_2] := the view
on orders
  v.m1 += π(total, session_window.start → _t1, session_window.end → _t2)(π(named_struct('start', precise_time(precise_time(ts)), 'end', precise_time(precise_time(add_micros(ts, 300000000)))) → session_window, total)(σ(ts IS NOT NULL)(Δorders)))
  v.m2 += sessionize[](_t1 – _t2 · Δv.m1, what it meets of v.m2)
  v.m3 += Sum[session_window](sum(_x0) · π(named_struct('start', _s3, 'end', _s4) → session_window, total → _x0)(Δv.m2))
  v += π(session_window, _a5 → total_2)(finalize[session_window](Δv.m3))
-- case: by a key that only Spark compares
SELECT s COLLATE UNICODE AS s, session_window, count(*) AS n FROM orders GROUP BY s COLLATE UNICODE, session_window(ts, '5 minutes')
-- plan
Aggregate [c_groupingexpression, session_window] cast(min(cast(cast(s AS string collate UNICODE) AS string)) AS string collate UNICODE) AS s_2, session_window, count(*) AS n
  Sessions [c_groupingexpression] session_window
    Project named_struct('start', precise_time(precise_time(ts)), 'end', precise_time(precise_time(add_micros(ts, 300000000)))) AS session_window, s, collation_key(cast(s AS string collate UNICODE)) AS c_groupingexpression
      Filter ts IS NOT NULL
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- rewritten
Aggregate [c_groupingexpression, session_window] cast(min(cast(cast(s AS string collate UNICODE) AS string)) AS string collate UNICODE) AS s_2, session_window, count(*) AS n
  Sessions [c_groupingexpression] session_window
    Project named_struct('start', precise_time(precise_time(ts)), 'end', precise_time(precise_time(add_micros(ts, 300000000)))) AS session_window, s, collation_key(cast(s AS string collate UNICODE)) AS c_groupingexpression
      Filter ts IS NOT NULL
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- program
view v → s, session_window, n
  Aggregate [c_groupingexpression, session_window] cast(min(cast(cast(s AS string collate UNICODE) AS string)) AS string collate UNICODE) AS s_2, session_window, count(*) AS n  keyed  (min is not a sum)
    Sessions [c_groupingexpression] session_window                            keyed  (a change affects the sessions that it touches)
      Project named_struct('start', precise_time(precise_time(ts)), 'end', precise_time(precise_time(add_micros(ts, 300000000)))) AS session_window, s, collation_key(cast(s AS string collate UNICODE)) AS c_groupingexpression  ring  (on Spark: `collation_key` of string collate UNICODE is evaluated by Spark alone)
        Filter ts IS NOT NULL                                                 ring
          Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v.m2 [c_groupingexpression] := Sessions [c_groupingexpression] session_window, by c_groupingexpression, time
  v.m3 [c_groupingexpression, session_window] := Sessions [c_groupingexpression] session_window, by c_groupingexpression, session_window
  v [_key] := Aggregate [c_groupingexpression, session_window] cast(min(cast(cast(s AS string collate UNICODE) AS string)) AS string collate UNICODE) AS s_2, session_window, count(*) AS n
on orders
  v.m1 += π(s, c_groupingexpression, session_window.start → _t1, session_window.end → _t2)(spark⟨Project named_struct('start', precise_time(precise_time(ts)), 'end', precise_time(precise_time(add_micros(ts, 300000000)))) AS session_window, s, collation_key(cast(s AS string collate UNICODE)) AS c_groupingexpression⟩(σ(ts IS NOT NULL)(Δorders)))
  v.m2 += sessionize[c_groupingexpression](_t1 – _t2 · Δv.m1, what it meets of v.m2)
  v.m3 += π(named_struct('start', _s3, 'end', _s4) → session_window, s, c_groupingexpression)(Δv.m2)
  v += aggregate(touched groups of v.m3′) − v
