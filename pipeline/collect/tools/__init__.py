"""What each tool is asked to do: spec → exact commands and job files, pure functions, a module a tool."""
