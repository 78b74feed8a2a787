CREATE FUNCTION refuse_change_of_audit_entries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit entries are append-only' USING ERRCODE = 'integrity_constraint_violation';
END
$$;

CREATE TRIGGER audit_entries_are_append_only
    BEFORE UPDATE OR DELETE ON audit_entries
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_audit_entries();
