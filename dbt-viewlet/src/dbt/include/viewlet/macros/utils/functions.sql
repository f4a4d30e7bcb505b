{# What packages write in dbt's words, in Spark's SQL; all other functions are called the same there. #}
{% macro viewlet__array_concat(array_1, array_2) -%}
  concat({{ array_1 }}, {{ array_2 }})
{%- endmacro %}

{% macro viewlet__array_construct(inputs, data_type) -%}
  {%- if inputs -%}
    array({{ inputs | join(', ') }})
  {%- else -%}
    cast(array() as array<{{ data_type }}>)
  {%- endif -%}
{%- endmacro %}

{% macro viewlet__date(year, month, day) -%}
  make_date({{ year }}, {{ month }}, {{ day }})
{%- endmacro %}

{% macro viewlet__dateadd(datepart, interval, from_date_or_timestamp) -%}
  timestampadd({{ datepart }}, {{ interval }}, cast({{ from_date_or_timestamp }} as timestamp))
{%- endmacro %}

{# The boundaries between two times, as dbt counts them; Spark itself counts whole units. #}
{% macro viewlet__datediff(first_date, second_date, datepart) -%}
  timestampdiff({{ datepart }}, date_trunc('{{ datepart }}', {{ first_date }}), date_trunc('{{ datepart }}', {{ second_date }}))
{%- endmacro %}

{% macro viewlet__escape_single_quotes(expression) -%}
  {{ expression | replace("\\", "\\\\") | replace("'", "\\'") }}
{%- endmacro %}

{% macro viewlet__listagg(measure, delimiter_text, order_by_clause, limit_num) -%}
  {%- set all -%}
    listagg({{ measure }}, {{ delimiter_text }}){% if order_by_clause %} within group ({{ order_by_clause }}){% endif %}
  {%- endset -%}
  {{ "substring_index(" ~ all ~ ", " ~ delimiter_text ~ ", " ~ limit_num ~ ")" if limit_num else all }}
{%- endmacro %}

{% macro viewlet__safe_cast(field, type) -%}
  try_cast({{ field }} as {{ type }})
{%- endmacro %}
