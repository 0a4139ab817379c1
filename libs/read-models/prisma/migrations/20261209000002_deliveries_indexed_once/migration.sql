-- webhook_deliveries_of_endpoint serves the queries of the previous release, too.
DROP INDEX webhook_deliveries_by_endpoint;
