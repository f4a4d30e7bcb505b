select c.id as customer, c.name, c.region, sum(o.total) as total, count(*) as orders
from {{ ref('orders') }} o
join {{ ref('customers') }} c on c.id = o.customer
group by c.id, c.name, c.region
