"""fio: reports, terse lines, time-series and histogram logs, job files."""
