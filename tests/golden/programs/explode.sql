select id, e from orders lateral view explode(arr) x as e
-- program
view v → id, e
  Generate explode(arr) AS e [id, e]                                          ring  (on Spark: `explode` is evaluated by Spark alone)
    Project id, arr                                                           ring
      Filter size(arr) > 0 AND arr IS NOT NULL                                ring  (on Spark: `size` is evaluated by Spark alone)
        Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
maps
  v [id, e] := the view
on orders
  v += spark⟨Generate explode(arr) AS e [id, e]⟩(π(id, arr)(spark⟨Filter size(arr) > 0 AND arr IS NOT NULL⟩(Δorders)))
