-- Tokens never repeat, also not for a row that was removed and prepared again.
CREATE SEQUENCE execution_token_seq AS bigint;

-- The ledger, partitioned by day on the id alone, whose first 48 bits are the nominal
-- millisecond. No default partition: a row outside the known days is an error, not a pile.
CREATE TABLE executions (
    id uuid NOT NULL PRIMARY KEY,
    tenant_id uuid NOT NULL,
    task_id uuid NOT NULL,
    partition smallint NOT NULL,
    band smallint NOT NULL,
    pool varchar(63) NOT NULL,
    revision integer NOT NULL,
    status varchar(9) NOT NULL,
    reason varchar(40) NOT NULL,
    trigger varchar(8) NOT NULL,
    scheduled_for timestamptz NOT NULL,
    due_at timestamptz NOT NULL,
    queued_at timestamptz,
    started_at timestamptz,
    finished_at timestamptz,
    start_delay_ms double precision,
    attempt smallint NOT NULL,
    max_attempts smallint NOT NULL,
    lost_count smallint NOT NULL,
    timeout_seconds double precision NOT NULL,
    fencing_token bigint,
    lease_expires_at timestamptz,
    incarnation varchar(80) NOT NULL,
    worker varchar(120) NOT NULL,
    held boolean NOT NULL,
    cancel_requested_at timestamptz,
    response_status smallint,
    error_code varchar(30) NOT NULL,
    error_message varchar(1000) NOT NULL,
    sealed_payload bytea,
    parent_id uuid,
    span_last timestamptz,
    span_count bigint,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT execution_status_is_known CHECK (status IN (
        'PENDING', 'QUEUED', 'RUNNING', 'RETRYING', 'SUCCEEDED', 'FAILED', 'CANCELLED',
        'SKIPPED')),
    CONSTRAINT finished_exactly_in_final_states CHECK (
        (status IN ('CANCELLED', 'FAILED', 'SKIPPED', 'SUCCEEDED')) = (finished_at IS NOT NULL)),
    CONSTRAINT leased_exactly_when_queued_or_running CHECK (
        CASE WHEN status IN ('QUEUED', 'RUNNING')
             THEN lease_expires_at IS NOT NULL AND fencing_token IS NOT NULL
             ELSE lease_expires_at IS NULL END),
    CONSTRAINT attempt_is_within_bounds CHECK (attempt >= 0 AND max_attempts >= 1),
    CONSTRAINT span_rows_are_skipped CHECK (span_count IS NULL OR status = 'SKIPPED')
) PARTITION BY RANGE (id);
CREATE INDEX executions_due_idx ON executions (band, due_at)
    WHERE status IN ('PENDING', 'RETRYING') AND NOT held;
CREATE INDEX executions_held_idx ON executions (id)
    WHERE status IN ('PENDING', 'RETRYING') AND held;
CREATE INDEX executions_leased_idx ON executions (lease_expires_at)
    WHERE status IN ('QUEUED', 'RUNNING');
CREATE INDEX executions_of_task_idx ON executions (task_id, id DESC);
CREATE INDEX executions_of_tenant_idx ON executions (tenant_id, id DESC);

-- Attempts carry their execution's time prefix, so both lie in one day.
CREATE TABLE attempts (
    id uuid NOT NULL PRIMARY KEY,
    execution_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    number smallint NOT NULL,
    fencing_token bigint NOT NULL,
    worker varchar(120) NOT NULL,
    due_at timestamptz,
    started_at timestamptz,
    finished_at timestamptz NOT NULL DEFAULT now(),
    outcome varchar(11) NOT NULL,
    error_code varchar(30) NOT NULL,
    error_message varchar(1000) NOT NULL,
    response_status smallint,
    timings jsonb NOT NULL,
    sealed_response bytea,
    CONSTRAINT attempt_outcome_is_known CHECK (outcome IN (
        'SUCCEEDED', 'FAILED', 'TIMED_OUT', 'WORKER_LOST', 'CANCELLED')),
    CONSTRAINT attempt_number_from_one CHECK (number >= 1)
) PARTITION BY RANGE (id);
CREATE INDEX attempts_of_execution_idx ON attempts (execution_id, number);

-- One row per partition, ever; 256 is fixed for the life of a database.
INSERT INTO partition_leases (partition, epoch) SELECT p, 0 FROM generate_series(0, 255) AS p;

-- Nothing is unfinished yet; the first ids are of today.
INSERT INTO ledger_floor (id, floor_id) VALUES (1, (
    lpad(to_hex((extract(epoch FROM date_trunc('day', now(), 'UTC')) * 1000)::bigint), 12, '0')
    || repeat('0', 20))::uuid);
