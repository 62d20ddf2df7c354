"""Side monitors: exact commands, bound to the start and the stop of a run; a module a tool."""
