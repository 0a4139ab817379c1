-- What did not arrive is what owners of an endpoint look for, among millions that did. Nothing is
-- written here for a delivery that succeeds.
CREATE INDEX webhook_finished_deliveries_failures
  ON webhook_finished_deliveries (endpoint_id, created_at DESC, id DESC) WHERE state <> 'delivered';
