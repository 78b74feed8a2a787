DROP TABLE workflow_signals, workflow_inbox, workflow_waits, workflow_fans, workflow_steps, ended_workflow_runs,
    workflow_runs;
DROP INDEX open_executions_to_begin_idx, open_executions_of_run_idx;
ALTER TABLE executions DROP COLUMN take, DROP COLUMN item, DROP COLUMN step, DROP COLUMN run_id;
