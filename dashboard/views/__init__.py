"""One module per page; each view reads, and hands ready values to its template."""
