-- Price spread: between all asks and bids of more than a ten-thousandth of their side's volume.
SELECT sum(a.price - b.price) AS psp
FROM bids b, asks a
WHERE b.volume > 0.0001 * (SELECT sum(b1.volume) FROM bids b1)
  AND a.volume > 0.0001 * (SELECT sum(a1.volume) FROM asks a1)
