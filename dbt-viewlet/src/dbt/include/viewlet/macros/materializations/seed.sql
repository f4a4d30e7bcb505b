{# A seed changes its table by how the file differs from it, and all that reads it follows. #}
{% materialization seed, adapter='viewlet' -%}
  {%- set target = this.incorporate(type='table') -%}
  {%- set rows = load_agate_table() -%}
  {%- do store_result('agate_table', response='OK', agate_table=rows) -%}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {%- set types = model['config'].get('column_types') or {} -%}
  {%- set response = adapter.load_seed(target, rows, types, config.get('primary_key'), viewlet__remade()) -%}
  {%- call noop_statement('main', response | string, response.code, response.rows_affected) -%}
    CREATE OR REPLACE TABLE {{ target }}{{ adapter.key_clause(config.get('primary_key')) }} AS {{ model['original_file_path'] }}
  {%- endcall -%}

  {{ return(viewlet__finish(target)) }}
{%- endmaterialization %}
