CREATE STREAMING TABLE sliding AS
SELECT window.end AS until, count(*) AS n, max(total) AS most
FROM STREAM(clicks) WATERMARK at DELAY OF INTERVAL 30 MINUTES AS c
GROUP BY window(at, '10 minutes', '5 minutes');
