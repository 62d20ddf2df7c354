"""PostgreSQL's own tools."""
