-- How often the transfer may have been sent, counted before each time. The rejection of one of several may
-- concern that one alone. Of older rows nobody counted, so they count as sent more than once.
ALTER TABLE iso_transfers ADD COLUMN sends integer NOT NULL DEFAULT 2;
ALTER TABLE iso_transfers ALTER COLUMN sends SET DEFAULT 0;
