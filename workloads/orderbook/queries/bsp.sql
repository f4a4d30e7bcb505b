-- Broker spread: by broker, the value of each bid less that of every earlier one.
SELECT x.broker_id, sum(x.volume * x.price - y.volume * y.price) AS bsp
FROM bids x, bids y
WHERE x.broker_id = y.broker_id
  AND x.t > y.t
GROUP BY x.broker_id
