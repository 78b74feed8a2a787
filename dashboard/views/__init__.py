"""One module per page; each view reads, and passes ready values to its template."""
