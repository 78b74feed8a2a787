from __future__ import annotations

from django.db import migrations

# The path has `public` before the temporary schema: the trigger that judges each removal looks its
# table up by it, and a temporary table of that name must not answer for the log.
_FORWARDS = """
CREATE FUNCTION forget_audit_entries(tenant uuid, last bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    removed bigint;
BEGIN
    DELETE FROM public.audit_entries e WHERE e.tenant_id = tenant AND e.sequence <= last;
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END
$$;
REVOKE ALL ON FUNCTION forget_audit_entries(uuid, bigint) FROM PUBLIC;
"""
_BACKWARDS = "DROP FUNCTION forget_audit_entries(uuid, bigint)"


class Migration(migrations.Migration):
    """Add a function that removes the begin of an audit chain, for a role that may only append."""

    dependencies = [("events", "0009_audit_prefixes_may_go")]

    operations = [migrations.RunSQL(_FORWARDS, _BACKWARDS)]
