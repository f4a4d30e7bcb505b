"""From a user's changes to a commit: checked, applied to tables, passed on to what is maintained."""
