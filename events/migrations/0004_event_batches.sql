-- An event of one subject, or of a batch of subjects with their tasks. Ids of version 7 hardly
-- compress, and a reader that only counts by name never fetches an array that lies outside its row.
ALTER TABLE events
    ADD COLUMN subjects uuid[] STORAGE EXTERNAL,
    ADD COLUMN tasks uuid[] STORAGE EXTERNAL,
    ALTER COLUMN subject_id DROP NOT NULL,
    ADD CONSTRAINT event_has_one_subject_or_a_batch CHECK (
        CASE WHEN subjects IS NULL THEN subject_id IS NOT NULL AND tasks IS NULL
             ELSE subject_id IS NULL AND task_id IS NULL AND cardinality(subjects) > 0
                  AND coalesce(cardinality(tasks), 0) = cardinality(subjects) END);
