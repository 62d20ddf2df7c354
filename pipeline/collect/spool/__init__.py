"""A campaign on a host, seen from the client: the verbs of the agent that works there."""
