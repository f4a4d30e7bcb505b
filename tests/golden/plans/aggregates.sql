select cust, avg(total) a, avg(d) ad, stddev(d) sd, percentile(d, 0.5) p, median(d) md,
approx_count_distinct(s) acd, count(*) c, count(s) cs, count_if(d > 1) ci, sum(d) filter (where d > 0) fs,
bool_and(d > 1) ba, mode(s) mo, corr(d, d) co, min(s) mi, listagg(s, ',') la, percentile_approx(d, 0.5) pa,
try_sum(id) ts, sum(distinct id) sdi from orders group by cust
-- plan
Aggregate [cust] cust, avg(total) AS a, avg(d) AS ad, stddev_samp(d) AS sd, percentile(d, 0.5, 1) AS p, percentile(d, 0.5, 1) AS md, approx_count_distinct[relativeSD=0.05](s, 3,240 bytes) AS acd, count(*) AS c, count(s) AS cs, count(if(NOT c_common_expr, NULL, c_common_expr)) AS ci, sum(d) FILTER (WHERE d > 0.0) AS fs, min(d > 1.0) AS ba, mode[reverseOpt=true](s) AS mo, corr(d, d) AS co, min(s) AS mi, listagg[asc nulls first](s, ',', s) AS la, percentile_disc(d, 0.5) AS pa, try_sum(id) AS ts_2, sum(DISTINCT id) AS sdi
  Project id, cust, total, d, s, d > 1.0 AS c_common_expr
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- plan from Spark 4.2: mode takes -0.0 as 0.0
Aggregate [cust] cust, avg(total) AS a, avg(d) AS ad, stddev_samp(d) AS sd, percentile(d, 0.5, 1) AS p, percentile(d, 0.5, 1) AS md, approx_count_distinct[relativeSD=0.05](s, 3,240 bytes) AS acd, count(*) AS c, count(s) AS cs, count(if(NOT c_common_expr, NULL, c_common_expr)) AS ci, sum(d) FILTER (WHERE d > 0.0) AS fs, min(d > 1.0) AS ba, mode[reverseOpt=true, since 4.2](s) AS mo, corr(d, d) AS co, min(s) AS mi, listagg[asc nulls first](s, ',', s) AS la, percentile_disc(d, 0.5) AS pa, try_sum(id) AS ts_2, sum(DISTINCT id) AS sdi
  Project id, cust, total, d, s, d > 1.0 AS c_common_expr
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
-- plan from Spark 4.3: percentiles and corr are computed in another way
Aggregate [cust] cust, avg(total) AS a, avg(d) AS ad, stddev_samp(d) AS sd, percentile[since 4.3](d, 0.5, 1) AS p, percentile[since 4.3](d, 0.5, 1) AS md, approx_count_distinct[relativeSD=0.05](s, 3,240 bytes) AS acd, count(*) AS c, count(s) AS cs, count(if(NOT c_common_expr, NULL, c_common_expr)) AS ci, sum(d) FILTER (WHERE d > 0.0) AS fs, min(d > 1.0) AS ba, mode[reverseOpt=true, since 4.2](s) AS mo, corr[since 4.3](d, d) AS co, min(s) AS mi, listagg[asc nulls first](s, ',', s) AS la, percentile_disc(d, 0.5) AS pa, try_sum(id) AS ts_2, sum(DISTINCT id) AS sdi
  Project id, cust, total, d, s, d > 1.0 AS c_common_expr
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
