select id, e from orders lateral view explode(arr) x as e
-- program
view v → id, e
  Generate explode(arr) AS e [id, e]                                          ring
    Project id, arr                                                           ring
      Filter arr IS NOT NULL AND size(arr) > 0                                ring
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v [id, e] := the view
on orders
  v += explode(arr) of (π(id, arr)(σ(arr IS NOT NULL AND size(arr) > 0)(Δorders)))
