"""One file a format: bytes → tables, as pure functions. Copy ``_template.py`` to add one."""
