"""Rates by the vCPU, core, drive, terabyte and dollar; what publications computed, recomputed."""
