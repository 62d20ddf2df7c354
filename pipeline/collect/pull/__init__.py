"""The raw logs that a ledger names: from data/archive, DVC or their hosts into data/raw."""
