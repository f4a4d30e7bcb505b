"""What users write: chained calls that build a pipeline."""
