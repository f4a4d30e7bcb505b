"""What a user works with: tables, views, and the epochs that change them."""
