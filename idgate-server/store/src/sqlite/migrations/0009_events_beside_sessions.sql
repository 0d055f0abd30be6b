-- The status events of a session move into its row, which every one of them changes anyway.

ALTER TABLE sessions ADD COLUMN events TEXT NOT NULL DEFAULT '';
-- Each is a JSON array of status, reason and time, followed by a comma; its place, from 1, is its seq.
UPDATE sessions SET events = coalesce(
    (SELECT group_concat(json_array(status, reason, occurred_at) || ',', '' ORDER BY seq)
     FROM session_events WHERE session_id = sessions.id), '');
DROP TABLE session_events;
