"""What operators run: commands, backup and restore, doctor, status, demo, storm."""
