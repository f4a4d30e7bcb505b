"""The Spark engine: the same programs, run by tasks on partitions of the state."""
