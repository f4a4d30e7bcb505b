from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType

spark = SparkSession.active()
SCHEMA = "id BIGINT, cust INT, total DECIMAL(12,2), day DATE, note STRING"


shouted = sf.udf(lambda text: text and text.upper(), StringType())


@dp.materialized_view
def spend() -> DataFrame:
    return spark.table("orders").groupBy("cust").agg(sf.sum("total").alias("total"), sf.count("*").alias("n"))


@dp.materialized_view(name="notes", comment="with a function of ours")
def all_notes() -> DataFrame:
    return spark.read.table("current").select(shouted("note").alias("note"), "total").where("total > 0")


@dp.temporary_view
def current() -> DataFrame:
    return spark.read.format("csv").schema(SCHEMA).option("header", True).load("landing/orders")


@dp.table
def orders() -> DataFrame:
    return spark.readStream.format("csv").schema(SCHEMA).option("header", True).load("landing/orders")


dp.create_streaming_table("audit", schema="id BIGINT, why STRING")


@dp.append_flow(target="audit")
def large() -> DataFrame:
    return spark.readStream.table("orders").where("total > 90").select("id", sf.lit("large").alias("why"))


@dp.append_flow(target="audit", name="nameless")
def without_customer() -> DataFrame:
    return spark.readStream.table("orders").where("cust IS NULL").select("id", sf.lit("no customer").alias("why"))


dp.create_sink("exported", "parquet", {"path": "exported"})


@dp.append_flow(target="exported")
def export() -> DataFrame:
    return spark.readStream.table("orders").select("id", "total")
