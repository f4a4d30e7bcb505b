select id from orders where cust in (1,2,3,4,5,6,7,8,9,10,11,12) and s in
('a','b','c','d','e','f','g','h','i','j','k','l')
-- plan
Project id
  Filter cust IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12) AND s IN ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l')
    Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
