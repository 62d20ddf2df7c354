"""Hosts over SSH: host keys that must be known, jump hosts, connections, work on many side by side."""
