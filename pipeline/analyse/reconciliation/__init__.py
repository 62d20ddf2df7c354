"""The reconciliation gate: two figures of one thing must agree."""
