"""What a signal keeps in the store, from ingested readings to what a watermark evicts."""
