"""The month of a tenant's tasks: past runs and coming ones by day, their list, and their feed."""
