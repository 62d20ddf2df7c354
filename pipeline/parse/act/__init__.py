"""Aerospike's certification tool, with its preparation and configuration."""
