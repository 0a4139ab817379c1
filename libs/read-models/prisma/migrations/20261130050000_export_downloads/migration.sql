-- Which user of the dashboard downloaded which file of an export. Kept after the record of the export is gone.
CREATE TABLE export_downloads (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  organization_id uuid           NOT NULL,
  export_id       uuid           NOT NULL,
  -- As the actor of an event.
  downloaded_by   text           NOT NULL,
  downloaded_at   timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX export_downloads_of_export ON export_downloads (export_id, id DESC);
