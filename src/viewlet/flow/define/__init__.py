"""What users write: stages and flows, checked, and stored in the catalog."""
