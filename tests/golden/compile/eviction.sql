-- case: groups by the time itself
-- facts: {"watermarks": {"orders": 5}}
SELECT ts, sum(total) AS total FROM orders GROUP BY ts
-- maps
v.m1 [ts] := Sum[ts](sum(total))
v [ts, total_2] := the view
-- evictions
v.m1 by ts: ts, where ts is the time of orders
-- case: groups by the day of the time
-- facts: {"watermarks": {"orders": 5}}
SELECT CAST(ts AS date) AS on_day, count(*) AS n FROM orders GROUP BY CAST(ts AS date)
-- maps
v.m1 [c_groupingexpression] := Sum[c_groupingexpression](count(*))
v [on_day, n] := the view
-- evictions
v.m1 by c_groupingexpression: cast(ts AS date), where ts is the time of orders
-- case: tumbling windows
-- facts: {"watermarks": {"orders": 5}}
SELECT window.start AS start, count(*) AS n FROM orders GROUP BY window(ts, '5 minutes')
-- maps
v.m1 [window] := Sum[window](count(*))
v [start, n] := the view
-- evictions
v.m1 by window: named_struct('start', precise_time(precise_time(ts) - CASE WHEN (precise_time(ts) - 0) % 300000000 < 0 THEN (precise_time(ts) - 0) % 300000000 + 300000000 ELSE (precise_time(ts) - 0) % 300000000 END - 0), 'end', precise_time(precise_time(ts) - CASE WHEN (precise_time(ts) - 0) % 300000000 < 0 THEN (precise_time(ts) - 0) % 300000000 + 300000000 ELSE (precise_time(ts) - 0) % 300000000 END - 0 + 300000000)), where ts is the time of orders
-- case: sliding windows
-- facts: {"watermarks": {"orders": 5}}
SELECT window, cust, sum(total) AS total FROM orders GROUP BY window(ts, '10 minutes', '5 minutes'), cust
-- maps
v.m1 [window, cust] := Sum[window, cust](sum(total))
v [window, cust, total_2] := the view
-- evictions
v.m1 by window: named_struct('start', precise_time(precise_time(ts) - CASE WHEN (precise_time(ts) - 0) % 300000000 < 0 THEN (precise_time(ts) - 0) % 300000000 + 300000000 ELSE (precise_time(ts) - 0) % 300000000 END - 0), 'end', precise_time(precise_time(ts) - CASE WHEN (precise_time(ts) - 0) % 300000000 < 0 THEN (precise_time(ts) - 0) % 300000000 + 300000000 ELSE (precise_time(ts) - 0) % 300000000 END - 0 + 600000000)), named_struct('start', precise_time(precise_time(ts) - CASE WHEN (precise_time(ts) - 0) % 300000000 < 0 THEN (precise_time(ts) - 0) % 300000000 + 300000000 ELSE (precise_time(ts) - 0) % 300000000 END - 300000000), 'end', precise_time(precise_time(ts) - CASE WHEN (precise_time(ts) - 0) % 300000000 < 0 THEN (precise_time(ts) - 0) % 300000000 + 300000000 ELSE (precise_time(ts) - 0) % 300000000 END - 300000000 + 600000000)), where ts is the time of orders
-- case: session windows
-- facts: {"watermarks": {"orders": 5}}
SELECT cust, session_window, count(*) AS n FROM orders GROUP BY cust, session_window(ts, '5 minutes')
-- maps
v.m2 [cust] := Sessions [cust] session_window, by cust, time
v.m3 [cust, session_window] := Sum[cust, session_window](count(*))
v [cust, session_window, n] := the view
-- evictions
v.m2 by _s4 at its end: precise_time(precise_time(ts)), where ts is the time of orders
v.m3 by session_window at its end: precise_time(precise_time(ts)), where ts is the time of orders
-- case: groups by something else
-- facts: {"watermarks": {"orders": 5}}
SELECT cust, count(*) AS n FROM orders GROUP BY cust
-- maps
v.m1 [cust] := Sum[cust](count(*))
v [cust, n] := the view
-- evictions
it is not grouped by the time `ts`, or by a window of it
-- case: a function of the time that goes back
-- facts: {"watermarks": {"orders": 5}}
SELECT hour(ts) AS h, count(*) AS n FROM orders GROUP BY hour(ts)
-- maps
v.m1 [c_groupingexpression] := Sum[c_groupingexpression](count(*))
v [h, n] := the view
-- evictions
it is not grouped by the time `ts`, or by a window of it
-- case: a join
-- facts: {"watermarks": {"orders": 5}}
SELECT ts, c.name FROM orders o JOIN customers c ON o.cust = c.cust
-- maps
v.m1 [cust_2] := customers → cust_2, name
v.m2 [cust] := orders → cust, ts
v [ts, name] := the view
-- evictions
it is not an aggregate of one table by time
