"""The tables and views of the demonstration, in SQL."""

from __future__ import annotations

TABLES = {
    "customers": """
        CREATE TABLE customers (
            id BIGINT, name STRING NOT NULL, region STRING NOT NULL, segment STRING, joined DATE NOT NULL,
            PRIMARY KEY (id))""",
    "products": """
        CREATE TABLE products (
            id BIGINT, name STRING NOT NULL, category STRING NOT NULL, price DECIMAL(12,2) NOT NULL,
            PRIMARY KEY (id))""",
    "orders": """
        CREATE TABLE orders (
            id BIGINT, customer BIGINT, region STRING NOT NULL, day DATE NOT NULL, total DECIMAL(12,2) NOT NULL,
            PRIMARY KEY (id))""",
    "lines": """
        CREATE TABLE lines (
            order_id BIGINT, line INT, product BIGINT NOT NULL, quantity INT NOT NULL, amount DECIMAL(12,2) NOT NULL,
            PRIMARY KEY (order_id, line))""",
    "returns": """
        CREATE TABLE returns (
            order_id BIGINT, line INT, day DATE NOT NULL, reason STRING, refund DECIMAL(12,2) NOT NULL,
            PRIMARY KEY (order_id, line))""",
}

VIEWS = {
    # an aggregate
    "sales_by_month": """
        SELECT region, year(day) AS year, month(day) AS month,
               count(*) AS orders, sum(total) AS revenue, avg(total) AS average
        FROM orders
        GROUP BY region, year(day), month(day)""",
    # three joins under an aggregate
    "segment_by_category": """
        SELECT c.segment, p.category, sum(l.quantity) AS items, sum(l.amount) AS revenue
        FROM lines l
        JOIN orders o ON l.order_id = o.id
        JOIN customers c ON o.customer = c.id
        JOIN products p ON l.product = p.id
        GROUP BY c.segment, p.category""",
    # top-k per group, over an aggregate
    "top_products": """
        SELECT category, rank, product, revenue
        FROM (SELECT category, product, revenue,
                     row_number() OVER (PARTITION BY category ORDER BY revenue DESC, product) AS rank
              FROM (SELECT p.category, p.name AS product, sum(l.amount) AS revenue
                    FROM lines l JOIN products p ON l.product = p.id
                    GROUP BY p.category, p.name))
        WHERE rank <= 3""",
    # a distinct count
    "buyers_by_category": """
        SELECT p.category, count(DISTINCT o.customer) AS buyers
        FROM lines l
        JOIN orders o ON l.order_id = o.id
        JOIN products p ON l.product = p.id
        GROUP BY p.category""",
    # an outer join
    "order_balance": """
        SELECT o.id, o.region, o.total, r.refunded
        FROM orders o
        LEFT JOIN (SELECT order_id, sum(refund) AS refunded FROM returns GROUP BY order_id) r ON o.id = r.order_id""",
    # a view over a view
    "region_balance": """
        SELECT region, count(*) AS orders, count(refunded) AS returned, sum(total) AS sold, sum(refunded) AS refunded
        FROM order_balance
        GROUP BY region""",
}
