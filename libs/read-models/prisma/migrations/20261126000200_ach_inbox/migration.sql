-- Files in the inbox of an ACH connection that could not be read or removed. They stay there and hold up no other.
CREATE TABLE ach_inbox_files (
  bank        text NOT NULL,
  name        text NOT NULL,
  size_bytes  bigint NOT NULL,
  -- As the transport names it. Another one means that the file was written again.
  version     text NOT NULL,
  -- 'unread': its content is not known. 'kept': it was recorded, and could not be removed.
  state       text NOT NULL CHECK (state IN ('unread', 'kept')),
  problem     text NOT NULL,
  since       timestamptz(3) NOT NULL,
  -- When it was last in the list of the inbox.
  seen_at     timestamptz(3) NOT NULL,
  tries       integer NOT NULL,
  next_try_at timestamptz(3) NOT NULL,
  PRIMARY KEY (bank, name)
);
