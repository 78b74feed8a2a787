"""The pages of workflows: the list, one workflow, one run, one step, and the form."""
