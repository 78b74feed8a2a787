"""Black-box load reports: they speak HTTP to the product and judge by the receiver's ledger."""
