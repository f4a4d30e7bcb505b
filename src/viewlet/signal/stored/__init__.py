"""The state of signals in the store, from ingested readings to eviction by watermarks."""
