"""What a signal keeps in the store, from readings taken in to what a watermark evicts."""
