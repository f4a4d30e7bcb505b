{# Snapshots are dbt's own: they compare a query with the newest rows of each key, and MERGE closes and adds rows. #}
{% macro viewlet__snapshot_hash_arguments(args) -%}
  md5(concat_ws('|'
  {%- for arg in args -%}
    , coalesce(cast({{ arg }} as string), '')
  {%- endfor -%}
  ))
{%- endmacro %}

{% macro viewlet__snapshot_string_as_time(timestamp) -%}
  to_timestamp('{{ timestamp }}')
{%- endmacro %}

{% macro viewlet__post_snapshot(staging_relation) %}
  {%- do adapter.drop_relation(staging_relation) -%}
{% endmacro %}

{% macro viewlet__create_columns(relation, columns) %}
  {%- do alter_relation_add_remove_columns(relation, columns, []) -%}
{% endmacro %}
