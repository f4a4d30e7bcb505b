select upper(s) u, regexp_replace(s, 'a', 'b') r, date_trunc('month', ts) dt, year(day) y, hour(ts) h, day +
interval 1 day dd, cast(s as int) ci, try_cast(s as int) tci, coalesce(s, 'x') c, case when d > 1 then 1 when
d > 2 then 2 else 3 end cw, if(d>1,1,2) i, nullif(id, cust) ni, round(total, 1) rd, try_add(id, 1) ta,
try_divide(d, 0) td, abs(d) ab, -d ng, s like 'a%b' lk, s rlike 'x' rl, id between 1 and 5 bt, greatest(id,
cust) gr, trim(s) tr, concat(s, 'x') cc, s || cast(id as string) c2, ts + interval '1' hour th,
months_between(day, day) mb from orders
-- plan
Project upper(s) AS u, regexp_replace(s, a, b, 1) AS r, date_trunc(month, ts, Some(UTC)) AS dt, year(day) AS y, hour(ts) AS h, date_add(day, 1) AS dd, cast(s AS int) AS ci, try_cast(s AS int) AS tci, coalesce(s, 'x') AS c, CASE WHEN d > 1.0 THEN 1 WHEN d > 2.0 THEN 2 ELSE 3 END AS cw, if(d > 1.0, 1, 2) AS i, if(id = cust, NULL, id) AS ni, round(total, 1) AS rd, try_add(id, 1) AS ta, try_divide(d, 0.0) AS td, abs(d) AS ab, -d AS ng, length(s) >= 2 AND starts_with(s, 'a') AND ends_with(s, 'b') AS lk, RLIKE(s, x) AS rl, id >= 1 AND id <= 5 AS bt, greatest(id, cust) AS gr, trim(s) AS tr, concat(s, 'x') AS cc, concat(s, cast(id AS string)) AS c2, add_micros(ts, 3600000000) AS th, months_between(cast(day as timestamp), cast(day as timestamp), true, Some(UTC)) AS mb
  Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- plan from Spark 4.2: letters are those of Unicode 17
Project upper[since 4.2](s) AS u, regexp_replace(s, a, b, 1) AS r, date_trunc(month, ts, Some(UTC)) AS dt, year(day) AS y, hour(ts) AS h, date_add(day, 1) AS dd, cast(s AS int) AS ci, try_cast(s AS int) AS tci, coalesce(s, 'x') AS c, CASE WHEN d > 1.0 THEN 1 WHEN d > 2.0 THEN 2 ELSE 3 END AS cw, if(d > 1.0, 1, 2) AS i, if(id = cust, NULL, id) AS ni, round(total, 1) AS rd, try_add(id, 1) AS ta, try_divide(d, 0.0) AS td, abs(d) AS ab, -d AS ng, length(s) >= 2 AND starts_with(s, 'a') AND ends_with(s, 'b') AS lk, RLIKE(s, x) AS rl, id >= 1 AND id <= 5 AS bt, greatest(id, cust) AS gr, trim(s) AS tr, concat(s, 'x') AS cc, concat(s, cast(id AS string)) AS c2, add_micros(ts, 3600000000) AS th, months_between(cast(day as timestamp), cast(day as timestamp), true, Some(UTC)) AS mb
  Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
