DROP TABLE attempts;
DROP TABLE executions;
DROP SEQUENCE execution_token_seq;
DELETE FROM partition_leases;
DELETE FROM ledger_floor;
