-- The time zone whose months an organization's fees and statements go by. The projector of an older release does not set it.
ALTER TABLE organizations ADD COLUMN time_zone text NOT NULL DEFAULT 'America/New_York';
