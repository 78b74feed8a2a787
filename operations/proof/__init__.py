"""The judge of storms and load reports: a plan, what must come of it, and what came.

Expected instants are worked out apart from the product, and matched one to one with the ledger of
the receiver; the product's own tables are heard, not believed.
"""
