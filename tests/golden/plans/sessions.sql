SELECT cust, session_window.start AS t, sum(total) AS s
FROM orders
GROUP BY cust, session_window(ts, CASE WHEN cust = 1 THEN '5 minutes' ELSE '1 day' END)
-- plan
Aggregate [cust, session_window] cust, session_window.start AS t, sum(total) AS s_2
  Sessions [cust] session_window
    Project named_struct('start', precise_time(precise_time(ts)), 'end', precise_time(precise_time(add_micros(ts, CASE WHEN cust = 1 THEN 300000000 ELSE 86400000000 END)))) AS session_window, cust, total
      Filter ts IS NOT NULL AND precise_time(precise_time(add_micros(ts, CASE WHEN cust = 1 THEN 300000000 ELSE 86400000000 END))) > precise_time(precise_time(ts))
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
