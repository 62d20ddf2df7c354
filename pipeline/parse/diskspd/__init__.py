"""Microsoft DISKSPD."""
