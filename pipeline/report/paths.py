"""Names of notebooks, tables and figures: safe as files, in links and in a shell."""

import re

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
