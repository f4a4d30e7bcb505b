{# A materialized view is a view of Viewlet, which every epoch keeps fresh. CREATE OR REPLACE passes on the difference
   alone, and a definition that is there already does nothing. #}
{% materialization materialized_view, adapter='viewlet' -%}
  {{ return(viewlet__keep_view()) }}
{%- endmaterialization %}

{# The warehouse has no views that are computed when they are read: what dbt calls a view is kept fresh, too. #}
{% materialization view, adapter='viewlet' -%}
  {{ return(viewlet__keep_view()) }}
{%- endmaterialization %}

{% macro viewlet__keep_view() %}
  {%- set target = this.incorporate(type='materialized_view') -%}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {%- set build_sql -%}
    {{ get_create_materialized_view_as_sql(target, sql) }}
  {%- endset -%}
  {%- set response = adapter.replace(target, build_sql, viewlet__remade()) -%}
  {%- if should_full_refresh() and response | string == 'unchanged' -%}
    {%- set response, _ = adapter.execute('REFRESH MATERIALIZED VIEW ' ~ target ~ ' FULL') -%}
  {%- endif -%}
  {%- call noop_statement('main', response | string, response.code, response.rows_affected) -%}
    {{ build_sql }}
  {%- endcall -%}

  {{ return(viewlet__finish(target)) }}
{% endmacro %}

{% macro viewlet__get_create_materialized_view_as_sql(relation, sql) %}
  {%- if config.get('contract').enforced -%}
    {{ get_assert_columns_equivalent(sql) }}
  {%- endif -%}
  CREATE OR REPLACE MATERIALIZED VIEW {{ relation }} REFRESH POLICY {{ viewlet__refresh_policy(relation) }} AS
  {{ sql }}
{% endmacro %}

{% macro viewlet__create_view_as(relation, sql) %}
  CREATE OR REPLACE MATERIALIZED VIEW {{ relation }} AS
  {{ sql }}
{% endmacro %}

{# The policy that a model asks for; `on_configuration_change` says what becomes of another one that is there. #}
{% macro viewlet__refresh_policy(relation) %}
  {%- set wanted = config.get('refresh_policy', 'AUTO') | upper -%}
  {%- set existing = load_cached_relation(this) -%}
  {%- set known = adapter.refresh_policy(this) if existing is not none and existing.is_materialized_view else none -%}
  {%- if known is none or known == wanted or should_full_refresh() -%}
    {{ return(wanted) }}
  {%- endif -%}
  {%- set found = 'refresh_policy of ' ~ relation ~ ' is ' ~ known ~ ', and the model says ' ~ wanted -%}
  {%- if config.get('on_configuration_change') == 'fail' -%}
    {%- do exceptions.raise_fail_fast_error(found ~ '; `on_configuration_change` is `fail`') -%}
  {%- elif config.get('on_configuration_change') == 'continue' -%}
    {%- do exceptions.warn(found ~ '; `on_configuration_change` is `continue`: it stays') -%}
    {{ return(known) }}
  {%- endif -%}
  {{ return(wanted) }}
{% endmacro %}

{# The names of all that this run makes: what it has to drop of them on the way comes again. #}
{% macro viewlet__remade() %}
  {%- set names = [] -%}
  {%- for id in selected_resources if id in graph.nodes and graph.nodes[id].relation_name -%}
    {%- do names.append(graph.nodes[id].relation_name) -%}
  {%- endfor -%}
  {{ return(names) }}
{% endmacro %}

{# What every materialization ends with. #}
{% macro viewlet__finish(target) %}
  {%- do apply_grants(target, config.get('grants'), should_revoke=False) -%}
  {%- do persist_docs(target, model) -%}
  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {{ adapter.commit() }}
  {{ run_hooks(post_hooks, inside_transaction=False) }}
  {{ return({'relations': [target]}) }}
{% endmacro %}
