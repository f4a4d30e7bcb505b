select cust, collect_list(id) l, collect_list(s) st, first(d) f, last(s, true) g, max_by(id, total) mb,
any_value(m) am from orders group by cust
-- plan
Aggregate [cust] cust, get_list_field(sort_array(collect_list(named_struct('c0', id, 'c1', s, 'c2', d, 'c3', cast(m AS string), 'c4', id)), true), 'c4') AS l, get_list_field(sort_array(collect_list(if(s IS NOT NULL, named_struct('c0', id, 'c1', s, 'c2', d, 'c3', cast(m AS string), 'c4', s), NULL)), true), 'c4') AS st_2, min_by(d, named_struct('c0', id, 'c1', s, 'c2', d, 'c3', cast(m AS string))) AS f, max_by(s, if(s IS NOT NULL, named_struct('c0', id, 'c1', s, 'c2', d, 'c3', cast(m AS string)), NULL)) AS g, max_by(id, if(total IS NOT NULL, named_struct('c0', total, 'c1', id, 'c2', s, 'c3', d, 'c4', cast(m AS string)), NULL)) AS mb, min_by(m, named_struct('c0', id, 'c1', s, 'c2', d, 'c3', cast(m AS string))) AS am
  Project id, cust, total, d, s, m
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
