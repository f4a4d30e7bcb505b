"""Warehouses in object stores, against an S3 server on loopback."""
