"""Where the files of a warehouse are: a folder, or an object store behind a local cache."""
