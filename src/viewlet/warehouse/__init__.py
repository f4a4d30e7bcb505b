"""The warehouse: tables, views, and the epochs that change them."""
