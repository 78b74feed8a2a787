DROP TRIGGER audit_entries_are_append_only ON audit_entries;
DROP FUNCTION refuse_change_of_audit_entries();
