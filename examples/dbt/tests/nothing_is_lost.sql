-- what customers have spent is what months have brought
select a.total, b.total as other
from (select sum(total) as total from {{ ref('spend') }}) a
cross join (select sum(total) as total from {{ ref('months') }}) b
where a.total <> b.total
