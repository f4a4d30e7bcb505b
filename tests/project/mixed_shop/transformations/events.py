from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

spark = SparkSession.active()


@dp.table
def events() -> DataFrame:
    columns = "id BIGINT, cust INT, total DECIMAL(12,2), day DATE, note STRING"
    return spark.readStream.format("json").schema(columns).load("landing/orders")


@dp.materialized_view
def enriched() -> DataFrame:
    return spark.sql("SELECT e.*, s.total AS spent FROM events e JOIN spent s ON e.cust = s.cust")
