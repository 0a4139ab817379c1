-- One row for all requests of a user for a file on a day: a download that is resumed, or made in ranges, has many.
-- Null in rows of an earlier release, which has one for each request.
ALTER TABLE export_downloads
  -- In UTC.
  ADD COLUMN downloaded_on date,
  ADD COLUMN requests      integer NOT NULL DEFAULT 1;
CREATE UNIQUE INDEX export_downloads_of_day ON export_downloads (export_id, downloaded_by, downloaded_on);
-- They are removed after their time.
CREATE INDEX export_downloads_by_time ON export_downloads (downloaded_at);
