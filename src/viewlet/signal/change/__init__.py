"""What a change of readings means for a pipeline: how far it reaches, and the rerun around it."""
