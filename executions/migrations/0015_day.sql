CREATE TABLE executions_YYYYMMDD PARTITION OF executions FOR VALUES
    FROM ((lpad(to_hex((extract(epoch FROM timestamptz 'YYYYMMDD 00:00Z') * 1000)::bigint), 12, '0')
           || repeat('0', 20))::uuid)
    TO ((lpad(to_hex((extract(epoch FROM timestamptz 'YYYYMMDD 00:00Z') * 1000)::bigint + 86400000), 12, '0')
         || repeat('0', 20))::uuid)
