"""The judge of storms and load reports: compares the results of a plan with the expected ones.

It computes the expected instants apart from the product, and matches them one to one with the
receiver's ledger. It compares the product's own tables, but does not rely on them.
"""
