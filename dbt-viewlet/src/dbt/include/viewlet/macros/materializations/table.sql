{# A table is computed by each run; the rows that differ from those before are the change, and the same rows are none. #}
{% materialization table, adapter='viewlet' -%}
  {%- set target = this.incorporate(type='table') -%}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {%- set build_sql -%}
    {{ get_create_table_as_sql(False, target, sql) }}
  {%- endset -%}
  {%- set response = adapter.replace(target, build_sql, viewlet__remade()) -%}
  {%- call noop_statement('main', response | string, response.code, response.rows_affected) -%}
    {{ build_sql }}
  {%- endcall -%}

  {{ return(viewlet__finish(target)) }}
{%- endmaterialization %}

{# There are no temporary tables: dbt drops those that it makes. #}
{% macro viewlet__create_table_as(temporary, relation, compiled_code, language='sql') %}
  {%- if language != 'sql' -%}
    {%- do exceptions.raise_compiler_error('dbt-viewlet runs models in SQL; views over DataFrames are made with viewlet itself') -%}
  {%- endif -%}
  {%- if not temporary and config.get('contract').enforced -%}
    {{ get_assert_columns_equivalent(compiled_code) }}
  {%- endif -%}
  CREATE OR REPLACE TABLE {{ relation }}{{ '' if temporary else adapter.key_clause(config.get('primary_key')) }} AS
  {{ compiled_code }}
{% endmacro %}
