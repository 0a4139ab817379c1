-- Which log this database belongs to: the id in the log's stream `store-binding`. Deliveries, deadlines
-- and checkpoints of one log must never be worked off against another.
CREATE TABLE store_binding (
  one_row boolean NOT NULL DEFAULT true,
  store_id uuid NOT NULL,
  bound_at timestamptz(3) NOT NULL,
  CONSTRAINT store_binding_pkey PRIMARY KEY (one_row),
  CONSTRAINT store_binding_one_row_check CHECK (one_row)
);
