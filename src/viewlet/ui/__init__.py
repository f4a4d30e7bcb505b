"""The web page that shows a warehouse in a browser."""
