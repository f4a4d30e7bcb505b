{# dbt's incremental models: their own query finds what is new. A materialized view needs no such query. #}
{% materialization incremental, adapter='viewlet' -%}
  {%- set target = this.incorporate(type='table') -%}
  {%- set existing = load_cached_relation(this) -%}
  {%- set strategy = viewlet__incremental_strategy() -%}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {%- if existing is none or not existing.is_table or should_full_refresh() -%}
    {%- set build_sql -%}
      {{ get_create_table_as_sql(False, target, sql) }}
    {%- endset -%}
    {%- set response = adapter.replace(target, build_sql, viewlet__remade()) -%}
    {%- call noop_statement('main', response | string, response.code, response.rows_affected) -%}
      {{ build_sql }}
    {%- endcall -%}
  {%- else -%}
    {%- set columns = viewlet__follow_columns(existing, sql) -%}
    {%- call statement('main') -%}
      {%- if strategy == 'append' -%}
        INSERT INTO {{ target }} BY NAME
        SELECT {{ columns | map(attribute='quoted') | join(', ') }} FROM (
          {{ sql }}
        )
      {%- else -%}
        {{ get_merge_sql(target, '(' ~ sql ~ ')', config.get('unique_key'), columns, config.get('incremental_predicates')) }}
      {%- endif -%}
    {%- endcall -%}
  {%- endif -%}

  {{ return(viewlet__finish(target)) }}
{%- endmaterialization %}

{% macro viewlet__incremental_strategy() %}
  {%- set strategy = config.get('incremental_strategy') or ('merge' if config.get('unique_key') else 'append') -%}
  {%- if strategy not in ['append', 'merge'] -%}
    {%- do exceptions.raise_compiler_error(
      "dbt-viewlet has no incremental strategy `" ~ strategy ~ "`: use `merge` or `append`, or materialized='materialized_view' "
      "without is_incremental(), which is kept fresh whatever changes") -%}
  {%- endif -%}
  {{ return(strategy) }}
{% endmacro %}

{# The columns that a query and its table have in common, after what `on_schema_change` says was done to the table. #}
{% macro viewlet__follow_columns(existing, sql) %}
  {%- set wanted = adapter.get_column_schema_from_query(sql) -%}
  {%- set known = adapter.get_columns_in_relation(existing) -%}
  {%- set new = viewlet__columns_not_in(wanted, known) -%}
  {%- set gone = viewlet__columns_not_in(known, wanted) -%}
  {%- set policy = config.get('on_schema_change') or 'ignore' -%}
  {%- if policy == 'fail' and (new or gone) -%}
    {%- do exceptions.raise_compiler_error('the columns of ' ~ existing ~ ' differ from those of its query: '
      ~ (new + gone) | map(attribute='name') | join(', ') ~ '; run with --full-refresh, or change on_schema_change') -%}
  {%- endif -%}
  {%- if policy in ['append_new_columns', 'sync_all_columns'] -%}
    {%- do alter_relation_add_remove_columns(existing, new, gone if policy == 'sync_all_columns' else []) -%}
    {{ return(wanted) }}
  {%- endif -%}
  {{ return(viewlet__columns_not_in(wanted, new)) }}
{% endmacro %}

{% macro viewlet__columns_not_in(columns, others) %}
  {%- set names = others | map(attribute='name') | map('lower') | list -%}
  {%- set found = [] -%}
  {%- for column in columns if column.name | lower not in names -%}
    {%- do found.append(column) -%}
  {%- endfor -%}
  {{ return(found) }}
{% endmacro %}

{% macro viewlet__alter_relation_add_remove_columns(relation, add_columns, remove_columns) %}
  {%- for column in add_columns or [] -%}
    {%- do run_query('ALTER TABLE ' ~ relation ~ ' ADD COLUMNS (' ~ column.quoted ~ ' ' ~ column.data_type ~ ')') -%}
  {%- endfor -%}
  {%- for column in remove_columns or [] -%}
    {%- do run_query('ALTER TABLE ' ~ relation ~ ' DROP COLUMN ' ~ column.quoted) -%}
  {%- endfor -%}
{% endmacro %}
