-- The retry table of the consumer groups, on either broker: messages whose handler keeps failing while
-- others succeed (libs/messaging, deferred-messages.ts).
--
-- What always holds: a key has a row in deferred_keys exactly while it has messages, and both change
-- only under the lock of that row. So whoever finds no row may handle the key's next message at once.

CREATE TABLE deferred_keys (
  consumer_group text NOT NULL,
  key text NOT NULL,
  -- When the key's first message is due for its next attempt. A claim sets it to the end of its lease.
  due_at timestamptz(3) NOT NULL,
  -- The last claim, never used again. A process whose lease has passed to another one changes nothing.
  lease uuid NOT NULL DEFAULT gen_random_uuid(),
  PRIMARY KEY (consumer_group, key)
);
CREATE INDEX deferred_keys_due ON deferred_keys (consumer_group, due_at);

CREATE TABLE deferred_messages (
  -- Given out under the lock of the key's row: the order of the key.
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  consumer_group text NOT NULL,
  topic text NOT NULL,
  key text NOT NULL,
  value text NOT NULL,
  -- json, not jsonb: kept as it came, whatever characters it holds.
  headers json NOT NULL,
  "offset" text COLLATE "C" NOT NULL,
  -- All attempts so far, and those of them that count towards the dead letters.
  attempts integer NOT NULL,
  failures integer NOT NULL,
  error text,
  deferred_at timestamptz(3) NOT NULL,
  FOREIGN KEY (consumer_group, key) REFERENCES deferred_keys (consumer_group, key)
);
-- A crash between deferring and the commit defers the message a second time: one row all the same.
CREATE UNIQUE INDEX deferred_messages_message
  ON deferred_messages (consumer_group, topic, "offset", key);
CREATE INDEX deferred_messages_of_key ON deferred_messages (consumer_group, key, id);
CREATE INDEX deferred_messages_oldest ON deferred_messages (consumer_group, id);

-- Appends a message behind the others of its key. Without a time in the argument it is appended only
-- while others wait. Answers whether the message is in the table now.
CREATE FUNCTION defer_message(
  of_group text, of_topic text, of_key text, its_value text, its_headers json, its_offset text,
  its_attempts integer, its_failures integer, its_error text, due_in_ms double precision
) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  IF due_in_ms IS NULL THEN
    PERFORM FROM deferred_keys k WHERE k.consumer_group = of_group AND k.key = of_key FOR UPDATE;
    IF NOT FOUND THEN
      RETURN false;
    END IF;
  ELSE
    -- DO UPDATE takes the lock; a key that waits already keeps its time.
    INSERT INTO deferred_keys AS k (consumer_group, key, due_at)
    VALUES (of_group, of_key, now() + due_in_ms * interval '1 ms')
    ON CONFLICT (consumer_group, key) DO UPDATE SET due_at = k.due_at;
  END IF;
  INSERT INTO deferred_messages
    (consumer_group, topic, key, value, headers, "offset", attempts, failures, error, deferred_at)
  VALUES (of_group, of_topic, of_key, its_value, its_headers, its_offset, its_attempts, its_failures,
          its_error, now())
  ON CONFLICT (consumer_group, topic, "offset", key) DO NOTHING;
  RETURN true;
END
$$;

-- Removes a message that is handled or parked, and the key when that was its last. Answers the key's
-- next message, for the same lease. Nothing happens when the lease has passed to another process.
CREATE FUNCTION settle_deferred_message(
  of_group text, of_key text, under_lease uuid, message_id bigint
) RETURNS SETOF deferred_messages
LANGUAGE plpgsql AS $$
BEGIN
  -- A statement of its own: the next ones then take their snapshots after the lock is held.
  PERFORM FROM deferred_keys k
  WHERE k.consumer_group = of_group AND k.key = of_key AND k.lease = under_lease FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  DELETE FROM deferred_messages m WHERE m.id = message_id;
  RETURN QUERY
    SELECT m.* FROM deferred_messages m
    WHERE m.consumer_group = of_group AND m.key = of_key ORDER BY m.id LIMIT 1;
  IF NOT FOUND THEN
    DELETE FROM deferred_keys k WHERE k.consumer_group = of_group AND k.key = of_key;
  END IF;
END
$$;
