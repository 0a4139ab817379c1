-- The embedded broker's consumer groups: how far each is, and what it gave up on.

CREATE TABLE consumer_checkpoints (
  consumer_group text PRIMARY KEY,
  -- Opaque; compares as text in the log's order, hence the collation.
  position text COLLATE "C" NOT NULL,
  updated_at timestamptz(3) NOT NULL
);

CREATE TABLE dead_letters (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  consumer_group text NOT NULL,
  topic text NOT NULL,
  key text NOT NULL,
  value text NOT NULL,
  -- json, not jsonb: kept as it came, whatever characters it holds.
  headers json NOT NULL,
  "offset" text COLLATE "C" NOT NULL,
  attempts integer NOT NULL,
  error text NOT NULL,
  parked_at timestamptz(3) NOT NULL,
  -- Set by an operator, cleared by the consumer that takes it up.
  replay_requested_at timestamptz(3)
);

-- A crash between parking and the checkpoint parks the message a second time: one row all the same.
CREATE UNIQUE INDEX dead_letters_message ON dead_letters (consumer_group, topic, "offset", key);
CREATE INDEX dead_letters_oldest ON dead_letters (consumer_group, id);
CREATE INDEX dead_letters_replay ON dead_letters (consumer_group, id) WHERE replay_requested_at IS NOT NULL;
