-- Volume-weighted average price, its numerator: the value of the bids in the highest-priced quarter of the volume.
-- Nothing is priced above the highest bid, so its inner sum is NULL, which is not below anything: it is left out.
SELECT sum(b1.price * b1.volume) AS vwap
FROM bids b1
WHERE 0.25 * (SELECT sum(b3.volume) FROM bids b3)
      > (SELECT sum(b2.volume) FROM bids b2 WHERE b2.price > b1.price)
