"""Ten everyday tasks of the console, done by a browser and counted at a person's pace."""
