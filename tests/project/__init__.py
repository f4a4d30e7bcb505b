"""Projects that were written for Spark alone, run by Viewlet; each folder beside this file is one."""
