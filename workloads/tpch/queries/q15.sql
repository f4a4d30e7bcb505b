SELECT s_suppkey, s_name, s_address, s_phone, total_revenue
FROM supplier, q15_revenue
WHERE s_suppkey = supplier_no
    AND total_revenue = (
        SELECT max(total_revenue)
        FROM q15_revenue
    )
ORDER BY s_suppkey
