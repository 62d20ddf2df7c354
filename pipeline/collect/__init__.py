"""Campaigns on hosts: spec → plan → runs on the hosts → ledger → raw logs, over SSH; nothing here reads a log."""
