from __future__ import annotations

from django.db import migrations

_FORWARDS = """
CREATE FUNCTION refuse_removal_of_audit_entries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- The newest alone, as the verification does: for each entry that goes, there may be a
    -- checkpoint of each day.
    IF OLD.sequence <= (
        SELECT (e.after::jsonb ->> 'through')::bigint FROM audit_entries e
        WHERE e.tenant_id = OLD.tenant_id AND e.action = 'audit.forgotten'
          AND e.object_kind = 'audit' AND e.sequence > OLD.sequence
        ORDER BY e.sequence DESC LIMIT 1
    ) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'audit entries are append-only' USING ERRCODE = 'integrity_constraint_violation';
END
$$;
DROP TRIGGER audit_entries_are_append_only ON audit_entries;
CREATE TRIGGER audit_entries_are_append_only
    BEFORE UPDATE ON audit_entries
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_audit_entries();
CREATE TRIGGER audit_entries_are_not_removed
    BEFORE DELETE ON audit_entries
    FOR EACH ROW EXECUTE FUNCTION refuse_removal_of_audit_entries();
"""
_BACKWARDS = """
DROP TRIGGER audit_entries_are_not_removed ON audit_entries;
DROP TRIGGER audit_entries_are_append_only ON audit_entries;
CREATE TRIGGER audit_entries_are_append_only
    BEFORE UPDATE OR DELETE ON audit_entries
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_audit_entries();
DROP FUNCTION refuse_removal_of_audit_entries();
"""


class Migration(migrations.Migration):
    """Let the begin of an audit chain be removed, as far as a later entry of it says."""

    dependencies = [("events", "0008_audit_entries_are_found")]

    operations = [migrations.RunSQL(_FORWARDS, _BACKWARDS)]
