-- Missed trades: by broker, the spread in value of the asks and bids in the best-priced quarter of each side's volume.
-- Nothing is priced above the highest order, so its inner sum is NULL, which is not below anything: it is left out.
SELECT b.broker_id, sum(a.price * a.volume - b.price * b.volume) AS mst
FROM bids b, asks a
WHERE 0.25 * (SELECT sum(a1.volume) FROM asks a1)
      > (SELECT sum(a2.volume) FROM asks a2 WHERE a2.price > a.price)
  AND 0.25 * (SELECT sum(b1.volume) FROM bids b1)
      > (SELECT sum(b2.volume) FROM bids b2 WHERE b2.price > b.price)
GROUP BY b.broker_id
