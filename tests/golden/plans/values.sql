select * from values (1, 'a', date'2020-01-01', 1.5), (2, null, null, 2.5) as t(a, b, c, d)
-- plan
Values [a, b, c, d] (1, 'a', 2020-01-01, 1.5), (2, NULL, NULL, 2.5)
