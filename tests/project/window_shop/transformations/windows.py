from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

spark = SparkSession.active()


def landed() -> DataFrame:
    columns = "id BIGINT, cust INT, total DECIMAL(12,2), day DATE, note STRING"
    files = spark.readStream.format("json").schema(columns).load("landing/orders")
    return files.withColumn("at", sf.timestamp_seconds(sf.col("id") * 60))  # an id is a minute


def timed() -> DataFrame:
    return landed().withWatermark("at", "30 minutes")


@dp.table
def clicks() -> DataFrame:
    return landed()


@dp.table
def tumbling() -> DataFrame:
    windows = timed().groupBy(sf.window("at", "5 minutes"), "cust")
    totals = windows.agg(sf.sum("total").alias("total"), sf.count("*").alias("n")).where("n > 1")
    return totals.select(sf.col("window.start").alias("since"), "cust", "total", "n")


@dp.table
def sessions() -> DataFrame:
    windows = timed().where("total > 0").groupBy(sf.session_window("at", "2 minutes"), "cust")
    counts = windows.agg(sf.count("*").alias("n"), sf.min("id").alias("first"))
    return counts.select("session_window.start", "session_window.end", "cust", "n", "first")


@dp.table
def by_time() -> DataFrame:
    return timed().groupBy("at").agg(sf.count("*").alias("n"))
