-- the best customer of each region
select region, name, total
from (
  select *, row_number() over (partition by region order by total desc, customer) as place
  from {{ ref('spend') }}
)
where place = 1
