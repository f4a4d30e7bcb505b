"""SQL views: Spark queries whose results compiled programs keep fresh."""
