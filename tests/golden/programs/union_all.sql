select id from orders union all select cust from customers
-- program
view v → id
  Union [id_2]                                                                ring
    Project id                                                                ring
      Scan orders [id, cust, total, d, day, ts, s, b, arr, m, st]
    Project cust_2                                                            ring
      Scan customers [cust_2, name, region]
maps
  v [id_2] := the view
on orders
  v += π(id → id_2)(Δorders)
on customers
  v += π(cust_2 → id_2)(Δcustomers)
