"""Little's law, and response time where a load is open."""
