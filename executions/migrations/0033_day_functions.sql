-- The tables of days are made and dropped by processes that own no table. What needs the owner's
-- rights is in the functions with SECURITY DEFINER below: they take kinds, dates and numbers, make
-- every name themselves. Only the owner may call them until `roles make` lets others.

-- Returns the parent, the table and the bounds of the ids of a day. Refuses other kinds and no dates.
CREATE FUNCTION ledger_day(
    kind text, day date, OUT parent text, OUT name text, OUT low uuid, OUT high uuid)
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    begins bigint;
BEGIN
    parent := CASE kind
        WHEN 'executions' THEN 'ended_executions'
        WHEN 'attempts' THEN 'attempts'
        WHEN 'events' THEN 'events'
        WHEN 'runs' THEN 'ended_workflow_runs'
        WHEN 'steps' THEN 'workflow_steps'
    END;
    IF parent IS NULL OR day IS NULL OR day < '1970-01-01' OR day > '9999-01-01' THEN
        RAISE EXCEPTION 'not a day of the ledger' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    name := kind || '_' || to_char(day::timestamp, 'YYYYMMDD');
    begins := (day - date '1970-01-01')::bigint * 86400000;
    low := (lpad(to_hex(begins), 12, '0') || repeat('0', 20))::uuid;
    high := (lpad(to_hex(begins + 86400000), 12, '0') || repeat('0', 20))::uuid;
END
$$;

-- Makes a table like those of a kind, with a check that proves the bounds of a day, so that
-- attaching it does not scan. With the rights of the caller.
CREATE FUNCTION new_day_table(kind text, day date, called text) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    d record;
    depths text;
BEGIN
    SELECT * INTO d FROM public.ledger_day(kind, day);
    EXECUTE format(
        'CREATE TABLE public.%I (LIKE public.%I INCLUDING DEFAULTS INCLUDING CONSTRAINTS'
        ' INCLUDING INDEXES INCLUDING STORAGE) WITH (autovacuum_analyze_scale_factor = 0.5)',
        called, d.parent);
    -- Columns with statistics of an unusual depth: LIKE does not take it over.
    SELECT string_agg(format('ALTER COLUMN %I SET STATISTICS %s', attname, attstattarget), ', '
                      ORDER BY attnum)
    INTO depths FROM pg_attribute
    WHERE attrelid = format('public.%I', d.parent)::regclass AND attnum > 0
      AND NOT attisdropped AND attstattarget IS NOT NULL;
    IF depths IS NOT NULL THEN
        EXECUTE format('ALTER TABLE public.%I %s', called, depths);
    END IF;
    EXECUTE format('ALTER TABLE public.%I ADD CONSTRAINT %I CHECK (id >= %L AND id < %L)',
                   called, d.name || '_bounds', d.low, d.high);
END
$$;

-- Attaches the table that has the name of a day; the bounds of the part replace its check. With the
-- rights of the caller. Attaching locks the parent far less than creating the table in place would.
CREATE FUNCTION attach_day_table(kind text, day date) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    d record;
BEGIN
    SELECT * INTO d FROM public.ledger_day(kind, day);
    EXECUTE format('ALTER TABLE public.%I ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)',
                   d.parent, d.name, d.low, d.high);
    EXECUTE format('ALTER TABLE public.%I DROP CONSTRAINT %I', d.name, d.name || '_bounds');
END
$$;

-- Gives the table of a day that has left its parent, or half so, a name that no day will have. Does
-- nothing to a table without the mark: an operator has detached it. With the rights of the caller.
CREATE FUNCTION put_day_aside(kind text, day date) RETURNS boolean
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    d record;
    found_one record;
BEGIN
    SELECT * INTO d FROM public.ledger_day(kind, day);
    SELECT c.oid::bigint AS number, i.inhrelid IS NOT NULL AS is_part INTO found_one
    FROM pg_class c
    LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
    WHERE c.relnamespace = 'public'::regnamespace AND c.relname = d.name AND c.relkind = 'r'
      AND obj_description(c.oid, 'pg_class') = 'Leaves the ledger.'
      AND (i.inhrelid IS NULL OR i.inhdetachpending);
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF found_one.is_part THEN
        EXECUTE format('ALTER TABLE public.%I DETACH PARTITION public.%I FINALIZE',
                       d.parent, d.name);
    END IF;
    EXECUTE format('ALTER TABLE public.%I RENAME TO %I',
                   d.name, d.name || '_leaving_' || found_one.number);
    RETURN true;
END
$$;

-- Makes the table of a day unless it is there; returns whether it did. One process at a time makes
-- or drops days.
CREATE FUNCTION make_day(kind text, day date) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    d record;
BEGIN
    SELECT * INTO d FROM public.ledger_day(kind, day);
    PERFORM pg_advisory_xact_lock(727301);
    PERFORM FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = format('public.%I', d.parent)::regclass AND c.relname = d.name
      AND NOT i.inhdetachpending;
    IF FOUND THEN
        RETURN false;
    END IF;
    PERFORM public.put_day_aside(kind, day);
    PERFORM public.new_day_table(kind, day, d.name);
    PERFORM public.attach_day_table(kind, day);
    RETURN true;
END
$$;

-- Spares the table of a day from the retention until after a date, by its comment.
CREATE FUNCTION keep_day(kind text, day date, until date) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    d record;
BEGIN
    SELECT * INTO d FROM public.ledger_day(kind, day);
    EXECUTE format('COMMENT ON TABLE public.%I IS %L',
                   d.name, 'kept until ' || to_char(until::timestamp, 'YYYY-MM-DD'));
END
$$;

-- Takes a day that has passed out of its parent, marks it and puts its table aside; returns whether
-- there was one. Sessions that come to use the parent wait as long as this one does: 50 ms at most,
-- then it raises lock_not_available and has changed nothing.
CREATE FUNCTION let_day_go(kind text, day date) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    SET lock_timeout = '50ms' AS $$
DECLARE
    d record;
    is_pending boolean;
BEGIN
    SELECT * INTO d FROM public.ledger_day(kind, day);
    IF day >= (now() AT TIME ZONE 'UTC')::date THEN
        RAISE EXCEPTION 'the day has not passed' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM pg_advisory_xact_lock(727301);
    SELECT i.inhdetachpending INTO is_pending
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = format('public.%I', d.parent)::regclass AND c.relname = d.name;
    IF FOUND AND is_pending THEN
        EXECUTE format('ALTER TABLE public.%I DETACH PARTITION public.%I FINALIZE',
                       d.parent, d.name);
    ELSIF FOUND THEN
        -- The day comes first: a vacuum may have it for minutes, and nobody queues behind this wait.
        EXECUTE format('LOCK TABLE ONLY public.%I IN ACCESS EXCLUSIVE MODE', d.name);
        EXECUTE format('ALTER TABLE public.%I DETACH PARTITION public.%I', d.parent, d.name);
        EXECUTE format('COMMENT ON TABLE public.%I IS %L', d.name, 'Leaves the ledger.');
    END IF;
    RETURN public.put_day_aside(kind, day);
END
$$;

-- Lets the caller read a table that was put aside, to archive it.
CREATE FUNCTION open_left_day(kind text, day date, number bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    d record;
    caller text := coalesce(nullif(current_setting('role'), 'none'), session_user);
BEGIN
    SELECT * INTO d FROM public.ledger_day(kind, day);
    IF caller <> current_user THEN
        EXECUTE format('GRANT SELECT ON public.%I TO %I',
                       d.name || '_leaving_' || number, caller);
    END IF;
END
$$;

-- Drops a table that was put aside: this locks nothing but the table itself.
CREATE FUNCTION drop_left_day(kind text, day date, number bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    d record;
BEGIN
    SELECT * INTO d FROM public.ledger_day(kind, day);
    EXECUTE format('DROP TABLE public.%I', d.name || '_leaving_' || number);
END
$$;

-- Takes the mark from days that are wholly in the ledger: a version before this one began to detach
-- them, or a backup was made in the middle of it. Without the mark, a day that an operator detaches
-- later stays. One process at a time makes or drops days.
CREATE FUNCTION take_day_marks_back() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    called text;
BEGIN
    PERFORM pg_advisory_xact_lock(727301);
    FOR called IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE NOT i.inhdetachpending AND c.relkind = 'r'
          AND c.relnamespace = 'public'::regnamespace
          AND obj_description(c.oid, 'pg_class') = 'Leaves the ledger.'
    LOOP
        EXECUTE format('COMMENT ON TABLE public.%I IS NULL', called);
    END LOOP;
END
$$;

-- Returns whether a transaction that began long ago uses the parent of a kind, as a dump does: a
-- day that leaves would wait for it. Roles see the transactions of their own sessions only.
CREATE FUNCTION day_has_old_reader(kind text, seconds double precision) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    d record;
BEGIN
    SELECT * INTO d FROM public.ledger_day(kind, '1970-01-01');
    RETURN EXISTS (
        SELECT FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
        WHERE l.locktype = 'relation' AND l.granted
          AND l.relation = format('public.%I', d.parent)::regclass
          AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
          AND a.pid <> pg_backend_pid()
          AND a.xact_start < clock_timestamp() - make_interval(secs => seconds));
END
$$;

REVOKE ALL ON FUNCTION ledger_day(text, date) FROM PUBLIC;
REVOKE ALL ON FUNCTION new_day_table(text, date, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION attach_day_table(text, date) FROM PUBLIC;
REVOKE ALL ON FUNCTION put_day_aside(text, date) FROM PUBLIC;
REVOKE ALL ON FUNCTION make_day(text, date) FROM PUBLIC;
REVOKE ALL ON FUNCTION keep_day(text, date, date) FROM PUBLIC;
REVOKE ALL ON FUNCTION let_day_go(text, date) FROM PUBLIC;
REVOKE ALL ON FUNCTION open_left_day(text, date, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION drop_left_day(text, date, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION take_day_marks_back() FROM PUBLIC;
REVOKE ALL ON FUNCTION day_has_old_reader(text, double precision) FROM PUBLIC;
