-- Files of records that an organization asked for. Their bytes are documents: export_parts says which.
CREATE SEQUENCE export_turns;

CREATE TABLE exports (
  id               uuid PRIMARY KEY,
  organization_id  uuid NOT NULL,
  -- Whose key seals the file, and what its parts are found by. A file that begins anew has another one.
  file_id          uuid NOT NULL,
  kind             text NOT NULL,
  format           text NOT NULL,
  originator_id    uuid,
  -- As requested. Null for no bound.
  from_at          timestamptz(3),
  to_at            timestamptz(3),
  -- Of the records in the file: never later than the request.
  until_at         timestamptz(3) NOT NULL,
  -- The export begins once the lists have reached this position.
  through_position text NOT NULL,
  requested_by     text NOT NULL,
  requested_at     timestamptz(3) NOT NULL,
  status           text NOT NULL DEFAULT 'queued',
  reason           text,
  -- Behind the last record that was written; null before the first part. Each kind has its own form.
  next_cursor      text,
  parts            integer NOT NULL DEFAULT 0,
  row_count        bigint NOT NULL DEFAULT 0,
  size_bytes       bigint NOT NULL DEFAULT 0,
  -- How many rows there will be, as counted at the beginning.
  expected_rows    bigint,
  sha256           bytea,
  failures         integer NOT NULL DEFAULT 0,
  started_at       timestamptz(3),
  finished_at      timestamptz(3),
  expires_at       timestamptz(3),
  -- One process at a time writes an export.
  lease_id         uuid,
  leased_until     timestamptz(3),
  -- Organizations take turns. Numbers instead of times: clocks differ.
  last_turn        bigint,
  CONSTRAINT exports_status_check
    CHECK (status IN ('queued', 'running', 'completed', 'failed', 'canceled', 'expired'))
);
CREATE INDEX exports_by_time ON exports (organization_id, requested_at DESC, id DESC);
CREATE INDEX exports_open ON exports (organization_id, requested_at) WHERE status IN ('queued', 'running');
CREATE INDEX exports_with_file ON exports (organization_id, finished_at DESC) WHERE status = 'completed';
CREATE INDEX exports_ended ON exports (finished_at) WHERE status IN ('failed', 'canceled', 'expired');

-- The documents of a file. A row is there before its document: so nothing is left behind.
CREATE TABLE export_parts (
  file_id      uuid NOT NULL,
  part         integer NOT NULL,
  -- Which lease wrote it: what a process writes after it lost its lease is another document.
  lease_id     uuid NOT NULL,
  -- Null until the part belongs to the file.
  offset_bytes bigint,
  size_bytes   bigint,
  CONSTRAINT export_parts_pkey PRIMARY KEY (file_id, part, lease_id)
);

-- Files that are to be removed, with their keys.
CREATE TABLE export_removals (
  file_id    uuid PRIMARY KEY,
  removed_at timestamptz(3)
);
CREATE INDEX export_removals_due ON export_removals (file_id) WHERE removed_at IS NULL;
