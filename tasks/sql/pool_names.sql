-- name: of_tenant
-- The names of a tenant's pools of pull workers, which its targets may give. The unique index
-- pool_is_one_row; a tenant has a handful.
SELECT name FROM pools WHERE tenant_id = %(tenant)s
