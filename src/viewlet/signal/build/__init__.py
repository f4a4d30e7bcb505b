"""The public interface: chained calls that build a pipeline."""
