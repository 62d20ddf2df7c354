"""Where the time of an operation goes: layers from different instruments, with their uncertainty."""
