-- name: tables
-- Returns the tables of the schema, without the tables of single days, which are read by their
-- parents only: whether each has the column tenant_id and whether that may be null, and whether row
-- security is on.
SELECT c.relname::text, a.attname IS NOT NULL, a.attname IS NOT NULL AND NOT a.attnotnull,
       c.relrowsecurity
FROM pg_class c
LEFT JOIN pg_attribute a
    ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
  AND c.relname !~ '_[0-9]{8}(_|$)'
ORDER BY c.relname

-- name: policies
-- Returns the policies of the schema's tables, with the comment that has their definition.
SELECT c.relname::text, p.polname::text, coalesce(obj_description(p.oid, 'pg_policy'), '')
FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid
WHERE c.relnamespace = 'public'::regnamespace

-- name: given
-- Returns what a role was granted on the relations of the schema, by itself and not as a member.
SELECT c.relname::text, c.relkind::text, g.privilege_type
FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) AS g
JOIN pg_roles r ON r.oid = g.grantee
WHERE c.relnamespace = 'public'::regnamespace AND r.rolname = %(role)s

-- name: given_columns
-- Returns what a role was granted on single columns of the schema's relations.
SELECT c.relname::text, a.attname::text, g.privilege_type
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND NOT a.attisdropped
CROSS JOIN LATERAL aclexplode(a.attacl) AS g
JOIN pg_roles r ON r.oid = g.grantee
WHERE c.relnamespace = 'public'::regnamespace AND r.rolname = %(role)s

-- name: columns
-- Returns the columns of the schema's tables, without those of the tables of single days.
SELECT c.relname::text, a.attname::text
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
  AND c.relname !~ '_[0-9]{8}(_|$)'

-- name: of_everybody
-- Returns what every role was granted on the relations of the schema, the web's among them.
SELECT c.relname::text, g.privilege_type
FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) AS g
WHERE c.relnamespace = 'public'::regnamespace AND g.grantee = 0

-- name: sequences
-- Returns the sequences of the schema.
SELECT c.relname::text FROM pg_class c
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'S'

-- name: views_without_invoker
-- Returns the views of the schema that would read with the rights of their owner; those of
-- extensions show nothing of the schema.
SELECT c.relname::text FROM pg_class c
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('v', 'm')
  AND NOT coalesce(c.reloptions && ARRAY['security_invoker=true', 'security_invoker=on'], false)
  AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
                  AND d.objid = c.oid AND d.deptype = 'e')

-- name: functions_with_rights
-- Returns the functions of the schema that run with the rights of their owner and do not say where
-- names in them are looked up.
SELECT p.proname::text FROM pg_proc p
WHERE p.pronamespace = 'public'::regnamespace AND p.prosecdef
  AND NOT coalesce(EXISTS (
      SELECT FROM unnest(p.proconfig) AS setting WHERE setting LIKE 'search_path=%%'), false)

-- name: role
-- Returns whether a role goes around row security: as a superuser, by BYPASSRLS or as a member of a
-- role that has it, or because it owns a table of the schema or is a member of a role that does. No
-- row where there is no such role.
SELECT r.rolsuper, r.rolbypassrls OR EXISTS (
    SELECT FROM pg_roles o
    WHERE (o.rolbypassrls OR o.rolsuper) AND pg_has_role(r.oid, o.oid, 'MEMBER')), EXISTS (
    SELECT FROM pg_class c
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'S')
      AND pg_has_role(r.oid, c.relowner, 'MEMBER'))
FROM pg_roles r WHERE r.rolname = %(role)s

-- name: make_role
-- Makes a role that may do nothing yet.
CREATE ROLE {role} WITH NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION NOINHERIT
    {login}

-- name: powers
-- Returns in words what a role may do that no process of the product needs. No row where it may do
-- nothing of the kind, or where there is no such role.
SELECT p.word
FROM pg_roles r CROSS JOIN LATERAL (VALUES
    (r.rolsuper, 'is a superuser'),
    (r.rolcreaterole, 'may make roles'),
    (r.rolcreatedb, 'may make databases'),
    (r.rolreplication, 'may replicate'),
    (EXISTS (SELECT FROM pg_class c WHERE c.relowner = r.oid)
     OR EXISTS (SELECT FROM pg_proc f WHERE f.proowner = r.oid), 'owns tables or functions'),
    (EXISTS (SELECT FROM pg_auth_members m WHERE m.member = r.oid), 'is a member of another role'),
    (has_schema_privilege(r.oid, 'public', 'CREATE'), 'may make tables and functions'),
    (has_database_privilege(r.oid, current_database(), 'CREATE'), 'may make schemas'),
    (has_parameter_privilege(r.oid, 'session_replication_role', 'SET'), 'may switch triggers off')
) AS p (has_it, word)
WHERE r.rolname = %(role)s AND p.has_it

-- name: crosses
-- Returns whether a role has BYPASSRLS, and whether it may use the schema. No row where there is no
-- such role.
SELECT r.rolbypassrls, has_schema_privilege(r.oid, 'public', 'USAGE')
FROM pg_roles r WHERE r.rolname = %(role)s

-- name: make_crossing_role
-- Makes a role that works for all tenants and may do nothing yet. With BYPASSRLS its statements have
-- the plans of a database without row security.
CREATE ROLE {role} WITH LOGIN BYPASSRLS NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOINHERIT

-- name: let_cross
-- Lets a role work for all tenants.
ALTER ROLE {role} WITH BYPASSRLS

-- name: callers
-- Returns who may call the functions of the schema that run with their owner's rights, besides the
-- owner; an empty name is every role.
SELECT p.proname::text || '(' || oidvectortypes(p.proargtypes) || ')', coalesce(r.rolname::text, '')
FROM pg_proc p
CROSS JOIN LATERAL aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS g
LEFT JOIN pg_roles r ON r.oid = g.grantee
WHERE p.pronamespace = 'public'::regnamespace AND p.prosecdef AND g.grantee <> p.proowner

-- name: functions
-- Returns the functions of the schema that run with their owner's rights.
SELECT p.proname::text || '(' || oidvectortypes(p.proargtypes) || ')'
FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.prosecdef

-- name: let_call
-- Lets a role call a function.
GRANT EXECUTE ON FUNCTION {function} TO {role}

-- name: forbid_call
-- Takes from a role, or from every role, the right to call a function.
REVOKE ALL ON FUNCTION {function} FROM {role}

-- name: set_password
-- Gives a role its password, which the client has turned into the form that is stored.
ALTER ROLE {role} WITH LOGIN PASSWORD {password}

-- name: reach
-- Returns whether the web's role may become the other one, and whether each may use the schema.
SELECT pg_has_role(%(role)s::name, %(across)s::name, 'SET'),
       has_schema_privilege(%(role)s::name, 'public', 'USAGE'),
       has_schema_privilege(%(across)s::name, 'public', 'USAGE')

-- name: may_become
-- Lets the role change to another one by SET ROLE; it has none of its rights before.
GRANT {across} TO {role} WITH INHERIT FALSE, SET TRUE

-- name: use_schema
-- Lets a role use names of the schema.
GRANT USAGE ON SCHEMA public TO {role}

-- name: grant
-- Gives a role rights on one relation.
GRANT {rights} ON {kind} {relation} TO {role}

-- name: revoke
-- Takes rights on one relation from a role.
REVOKE {rights} ON {kind} {relation} FROM {role}

-- name: grant_column
-- Gives a role a right on one column.
GRANT {right} ({column}) ON {relation} TO {role}

-- name: revoke_column
-- Takes a right on one column from a role.
REVOKE {right} ({column}) ON {relation} FROM {role}

-- name: enable
-- Turns row security on; without a policy a table then has no rows for all but its owner. Locks the
-- table for a moment.
ALTER TABLE {table} ENABLE ROW LEVEL SECURITY

-- name: drop_policy
-- Removes a policy, to make it anew in the same transaction.
DROP POLICY IF EXISTS {policy} ON {table}

-- name: tenant_rows
-- Shows a tenant's rows, and lets only such be written. Without a tenant there are none. The value
-- is read once per statement, and the operator is leakproof: indexes serve it.
CREATE POLICY {policy} ON {table} FOR ALL TO {roles}
    USING ({column} = (SELECT nullif(current_setting('punctual.tenant', true), '')::uuid))

-- name: shared_rows
-- Shows the rows that belong to the installation, beside those of the tenant.
CREATE POLICY {policy} ON {table} FOR SELECT TO {roles} USING (tenant_id IS NULL)

-- name: rows_of_parent
-- Shows the rows whose parent is shown, and lets only such be changed.
CREATE POLICY {policy} ON {table} FOR ALL TO {roles}
    USING (EXISTS (SELECT FROM {parent} AS parent WHERE parent.id = {table}.{column}))

-- name: make_tenant_of
-- Makes the function that tells whose a parent is, also a parent that row security hides; null where
-- there is none. It tells nothing else, and works by primary key.
CREATE OR REPLACE FUNCTION {function}(parent uuid) RETURNS uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS $$ SELECT tenant_id FROM public.{parent} WHERE id = $1 $$

-- name: close_function
-- Takes from everybody the right to call a function, which each new one has.
REVOKE ALL ON FUNCTION {function}(uuid) FROM PUBLIC

-- name: open_function
-- Lets roles call a function.
GRANT EXECUTE ON FUNCTION {function}(uuid) TO {roles}

-- name: may_call
-- Returns whether a role may call a function; null where there is no such function.
SELECT has_function_privilege(%(role)s, to_regprocedure(%(function)s), 'EXECUTE')

-- name: open_reading
-- Lets a role call a function without arguments that reads with its owner's rights.
GRANT EXECUTE ON FUNCTION {function}() TO {role}

-- name: rows_made_with_parent
-- Lets a statement make the row of a parent that it does not see, because it makes the parent, too,
-- or because the parent has gone; refuses the row of another tenant's parent.
CREATE POLICY {policy} ON {table} FOR INSERT TO {roles}
    WITH CHECK (coalesce({function}({column}),
                         (SELECT nullif(current_setting('punctual.tenant', true), '')::uuid))
                = (SELECT nullif(current_setting('punctual.tenant', true), '')::uuid))

-- name: rows_of_purpose
-- Shows the rows of all tenants to the role of crossing tenants, for the purposes that need this
-- table.
CREATE POLICY {policy} ON {table} FOR {command} TO {roles}
    USING ((SELECT current_setting('punctual.purpose', true)) = ANY ({purposes}))

-- name: rows_added_for_purpose
-- Lets the role of crossing tenants add rows of all tenants, for the purposes that need this; it
-- does not show them.
CREATE POLICY {policy} ON {table} FOR {command} TO {roles}
    WITH CHECK ((SELECT current_setting('punctual.purpose', true)) = ANY ({purposes}))

-- name: describe_policy
-- Keeps the text by which the next run sees whether the policy is the wanted one.
COMMENT ON POLICY {policy} ON {table} IS {text}

-- name: leaks
-- Returns which of the operators' functions that indexes of the web's searches are built for are
-- not marked as leakproof, and whether this session may mark them. Row security keeps others away
-- from indexes: their errors could tell of rows that are not shown.
SELECT p.oid::regprocedure::text, (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
FROM pg_proc p
WHERE p.oid IN ('pg_catalog.jsonb_contains(jsonb,jsonb)'::regprocedure,
                'pg_catalog.jsonb_exists(jsonb,text)'::regprocedure)
  AND NOT p.proleakproof

-- name: mark_contains
-- Lets the index of labels serve "has this label and value" under row security. The function fails
-- on no value, so that it tells nothing of rows that are not shown.
ALTER FUNCTION pg_catalog.jsonb_contains(jsonb, jsonb) LEAKPROOF

-- name: mark_exists
-- Lets the index of labels serve "has this label" under row security, by the same reason.
ALTER FUNCTION pg_catalog.jsonb_exists(jsonb, text) LEAKPROOF
