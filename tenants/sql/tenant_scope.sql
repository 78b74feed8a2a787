-- name: bind
-- Tells the row security policies for whom the next statements of the session run: the role, the
-- tenant and the purpose of crossing tenants. Ends with the transaction where ``local`` says so.
SELECT set_config('role', %(role)s, %(local)s),
       set_config('punctual.tenant', %(tenant)s, %(local)s),
       set_config('punctual.purpose', %(purpose)s, %(local)s)
