"""SQL views: the results of Spark queries, compiled into programs and kept fresh by them."""
