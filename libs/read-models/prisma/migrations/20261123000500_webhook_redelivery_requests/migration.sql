-- How often the owner of a pending delivery has asked for it again. A dispatcher compares this with the number
-- it read with its lease: a failed delivery that was asked for meanwhile stays pending. Times would not tell,
-- because the clocks of the API and of the dispatchers differ.
ALTER TABLE webhook_deliveries ADD COLUMN redelivery_requests integer NOT NULL DEFAULT 0;
