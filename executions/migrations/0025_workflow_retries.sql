-- The wishes for a next take of runs that are being cancelled: each begins when its run has ended.
CREATE TABLE workflow_retries (
    run_id uuid NOT NULL PRIMARY KEY,
    tenant_id uuid NOT NULL,
    partition smallint NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    sealed bytea NOT NULL
);

-- The marks of runs that were paused or resumed, which a scheduler looks for each second.
CREATE INDEX workflow_waits_pausing_idx ON workflow_waits (partition) WHERE kind = 'pausing';
