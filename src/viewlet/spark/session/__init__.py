"""Sessions of Spark and the JVM behind them."""
