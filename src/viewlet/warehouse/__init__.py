"""What a user has: tables, views, and the epochs that change them."""
