{% macro viewlet__current_timestamp() -%}
  current_timestamp()
{%- endmacro %}

{% macro viewlet__current_timestamp_backcompat() -%}
  current_timestamp()
{%- endmacro %}

{# A query that gives no rows and reads none: its columns are what is asked for. #}
{% macro viewlet__get_empty_subquery_sql(select_sql, select_sql_header=none) %}
  {{ select_sql_header if select_sql_header is not none }}
  select * from (
    {{ select_sql }}
  ) as __dbt_sbq
  where false
{% endmacro %}

{% macro viewlet__apply_grants(relation, grant_config, should_revoke=True) %}
  {%- if grant_config -%}
    {%- do exceptions.raise_compiler_error('a Viewlet warehouse has no grants: who may read or write ' ~ relation
      ~ ' is up to the permissions of its folder or bucket') -%}
  {%- endif -%}
{% endmacro %}

{% macro viewlet__persist_docs(relation, model, for_relation, for_columns) %}
  {%- if config.persist_relation_docs() or config.persist_column_docs() -%}
    {%- do exceptions.raise_compiler_error('a Viewlet warehouse keeps no comments: remove persist_docs; '
      'dbt docs shows the descriptions of ' ~ relation ~ ' all the same') -%}
  {%- endif -%}
{% endmacro %}

{% macro viewlet__validate_sql(sql) %}
  {%- call statement('validate_sql') -%}
    DESCRIBE QUERY {{ sql }}
  {%- endcall -%}
  {{ return(load_result('validate_sql')) }}
{% endmacro %}
