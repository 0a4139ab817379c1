-- The logo of an organization, as pages of payment links and the dashboard show it.
ALTER TABLE organizations ADD COLUMN logo_digest text, ADD COLUMN logo text;
CREATE INDEX organizations_by_logo ON organizations (logo_digest) WHERE logo_digest IS NOT NULL;
