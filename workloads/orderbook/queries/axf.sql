-- Axis finder: by broker, what asks offer beyond bids, among pairs whose prices are far apart.
SELECT b.broker_id, sum(a.volume - b.volume) AS axf
FROM bids b, asks a
WHERE b.broker_id = a.broker_id
  AND (a.price - b.price > 1000 OR b.price - a.price > 1000)
GROUP BY b.broker_id
