-- Which span made a session, as `traceparent` writes it: what else happens to it belongs to the same trace.
-- NULL: nobody recorded it. It names no person.
ALTER TABLE sessions ADD COLUMN parent_span TEXT;
ALTER TABLE webhook_deliveries ADD COLUMN parent_span TEXT;  -- outlives the session
