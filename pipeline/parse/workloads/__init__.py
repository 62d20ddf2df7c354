"""Load generators for databases and machines."""
