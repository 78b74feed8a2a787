-- The steps of workflows are executions, too: their run, their step and its item, and the take of
-- the run that began them. Null in all others, where they take no space.
ALTER TABLE executions ADD COLUMN run_id uuid, ADD COLUMN step smallint, ADD COLUMN item integer,
    ADD COLUMN take smallint;
CREATE INDEX open_executions_of_run_idx ON open_executions (run_id) WHERE run_id IS NOT NULL;
-- Runs that wait for their instant: a scheduler begins them, and no worker.
CREATE INDEX open_executions_to_begin_idx ON open_executions (due_at)
    WHERE pool = 'workflow' AND status = 'PENDING' AND NOT held;

-- A run that has not ended, in one row: a byte for the state and one for the take of each step, by
-- its number. Its keys never change, so that each update stays in its page.
CREATE TABLE workflow_runs (
    id uuid NOT NULL PRIMARY KEY,
    execution_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    task_id uuid NOT NULL,
    version integer NOT NULL,
    partition smallint NOT NULL,
    take smallint NOT NULL,
    phase varchar(12) NOT NULL,
    reason varchar(40) NOT NULL DEFAULT '',
    states bytea NOT NULL,
    takes bytea NOT NULL,
    ends integer NOT NULL DEFAULT 0,
    first_failed smallint,
    sealed_input bytea,
    scheduled_for timestamptz NOT NULL,
    began_at timestamptz NOT NULL,
    deadline_at timestamptz NOT NULL,
    root_id uuid NOT NULL,
    depth smallint NOT NULL DEFAULT 0,
    parent_run uuid,
    parent_step smallint,
    parent_item integer,
    parent_take smallint
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
CREATE INDEX workflow_runs_of_execution_idx ON workflow_runs (execution_id);
CREATE INDEX workflow_runs_of_task_idx ON workflow_runs (task_id, id DESC);
CREATE INDEX workflow_runs_taking_back_idx ON workflow_runs (partition)
    WHERE phase IN ('cancelling', 'failing');

-- The same row for each take that has ended, by the day of the run.
CREATE TABLE ended_workflow_runs (
    LIKE workflow_runs INCLUDING DEFAULTS,
    status varchar(9) NOT NULL,
    finished_at timestamptz NOT NULL,
    PRIMARY KEY (id, take)
) PARTITION BY RANGE (id);
CREATE INDEX ended_workflow_runs_of_task_idx ON ended_workflow_runs (task_id, id DESC);

-- The end of each step, and of each item of a fan-out, by the day of the run; only appended.
CREATE TABLE workflow_steps (
    id uuid NOT NULL,
    run_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    step smallint NOT NULL,
    item integer NOT NULL,
    take smallint NOT NULL,
    status varchar(9) NOT NULL,
    reason varchar(40) NOT NULL,
    place integer NOT NULL,
    execution_id uuid,
    started_at timestamptz,
    finished_at timestamptz NOT NULL,
    error_code varchar(30) NOT NULL DEFAULT '',
    error_message varchar(1000) NOT NULL DEFAULT '',
    actor varchar(254) NOT NULL DEFAULT '',
    note varchar(1000) NOT NULL DEFAULT '',
    sealed_output bytea,
    PRIMARY KEY (id)
) PARTITION BY RANGE (id);
CREATE INDEX workflow_steps_of_run_idx ON workflow_steps (run_id, step, item);

-- A fan-out under way: its items, and how many have begun and ended.
CREATE TABLE workflow_fans (
    run_id uuid NOT NULL,
    step smallint NOT NULL,
    take smallint NOT NULL,
    total integer NOT NULL,
    begun integer NOT NULL DEFAULT 0,
    succeeded integer NOT NULL DEFAULT 0,
    failed integer NOT NULL DEFAULT 0,
    skipped integer NOT NULL DEFAULT 0,
    began_at timestamptz NOT NULL,
    sealed_items bytea NOT NULL,
    PRIMARY KEY (run_id, step)
) WITH (fillfactor = 50);

-- What steps and runs wait for besides executions; never updated.
CREATE TABLE workflow_waits (
    run_id uuid NOT NULL,
    step smallint NOT NULL,
    item integer NOT NULL,
    kind varchar(12) NOT NULL,
    take smallint NOT NULL,
    tenant_id uuid NOT NULL,
    partition smallint NOT NULL,
    began_at timestamptz NOT NULL,
    due_at timestamptz,
    name varchar(200) NOT NULL DEFAULT '',
    correlation varchar(200) NOT NULL DEFAULT '',
    PRIMARY KEY (run_id, step, item, kind)
);
CREATE INDEX workflow_waits_due_idx ON workflow_waits (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX workflow_waits_named_idx ON workflow_waits (tenant_id, name, correlation)
    WHERE kind = 'event';

-- What has happened to a run and is not applied yet.
CREATE TABLE workflow_inbox (
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    run_id uuid NOT NULL,
    kind varchar(12) NOT NULL,
    step smallint,
    item integer,
    take smallint,
    execution_id uuid,
    status varchar(9),
    at timestamptz NOT NULL DEFAULT now()
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
CREATE INDEX workflow_inbox_of_run_idx ON workflow_inbox (run_id, id);

-- Signals of the last day: for the steps that wait for them, and for those that will.
CREATE TABLE workflow_signals (
    id uuid NOT NULL PRIMARY KEY,
    tenant_id uuid NOT NULL,
    name varchar(200) NOT NULL,
    correlation varchar(200) NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    sealed_payload bytea
);
CREATE INDEX workflow_signals_named_idx ON workflow_signals (tenant_id, name, correlation, at);

-- The days that are there get their tables of runs and steps: empty ones.
DO $$
DECLARE
    day text;
    low uuid;
    high uuid;
BEGIN
    FOR day IN
        SELECT right(c.relname, 8) FROM pg_inherits i
        JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'ended_executions'::regclass AND NOT i.inhdetachpending
          AND c.relname ~ '_[0-9]{8}$'
    LOOP
        SELECT (lpad(to_hex((extract(epoch FROM d) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid,
               (lpad(to_hex((extract(epoch FROM d + interval '1 day') * 1000)::bigint), 12, '0')
                || repeat('0', 20))::uuid
        INTO low, high
        FROM (SELECT to_date(day, 'YYYYMMDD')::timestamp AT TIME ZONE 'UTC' AS d) AS midnight;
        EXECUTE format(
            'CREATE TABLE runs_%s PARTITION OF ended_workflow_runs FOR VALUES FROM (%L) TO (%L)'
            ' WITH (autovacuum_analyze_scale_factor = 0.5)', day, low, high);
        EXECUTE format(
            'CREATE TABLE steps_%s PARTITION OF workflow_steps FOR VALUES FROM (%L) TO (%L)'
            ' WITH (autovacuum_analyze_scale_factor = 0.5)', day, low, high);
    END LOOP;
END $$;
