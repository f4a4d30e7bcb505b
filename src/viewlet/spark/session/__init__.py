"""Spark sessions and the JVM behind them."""
