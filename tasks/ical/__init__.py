"""Reads untrusted iCalendar files (RFC 5545): days and windows from their events.

``reading`` is the door: it starts a process for each file (``child``) and stops it when it takes
too long. In that process ``file`` reads the file: ``lines`` finds its components, ``events`` reads
the properties, ``series`` follows repetitions. ``icalendar`` and ``recurring_ical_events`` are
loaded only there.
"""
