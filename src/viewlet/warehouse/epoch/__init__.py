"""From a user's changes to a commit: checked, applied to tables, propagated to views."""
