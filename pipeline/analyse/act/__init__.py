"""Aerospike's ACT: certification, ratings, its own table recomputed."""
