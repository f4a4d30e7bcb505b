select cast({{ dbt.date_trunc('month', 'day') }} as date) as month, sum(total) as total
from {{ ref('orders') }}
group by 1
