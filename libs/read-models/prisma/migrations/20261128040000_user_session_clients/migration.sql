-- Users see their own sessions and end them. The token's digest stays on the server: sessions have IDs for that.
ALTER TABLE user_sessions ADD COLUMN session_id uuid NOT NULL DEFAULT gen_random_uuid();
-- The address and the browser that the session began with, sealed under the user's key. Null for older sessions.
ALTER TABLE user_sessions ADD COLUMN sealed_client text;
