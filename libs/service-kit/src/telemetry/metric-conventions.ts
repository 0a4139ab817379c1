/**
 * Metrics for which OpenTelemetry has a name (semantic conventions for HTTP, databases and messaging). /metrics
 * keeps the names on the left, because the alert rules of operators use them.
 */
export interface Convention {
  readonly name: string;
  readonly unit: string;
  /** What OpenTelemetry calls a label. Others keep their names. */
  readonly attributes: Readonly<Record<string, string>>;
  /** Labels whose values are whole numbers. */
  readonly integers?: readonly string[];
  /** Attributes with the same value in every series. */
  readonly constants?: Readonly<Record<string, string>>;
}

/** @param messagingSystem the broker */
export function conventions(messagingSystem: string): Readonly<Record<string, Convention>> {
  const pool = { db_client_connection_pool_name: 'db.client.connection.pool.name' };
  return {
    http_server_request_duration_seconds: {
      name: 'http.server.request.duration',
      unit: 's',
      attributes: {
        http_request_method: 'http.request.method',
        http_route: 'http.route',
        http_response_status_code: 'http.response.status_code',
        url_scheme: 'url.scheme',
      },
      integers: ['http_response_status_code'],
    },
    db_client_connection_count: {
      name: 'db.client.connection.count',
      unit: '{connection}',
      attributes: { ...pool, db_client_connection_state: 'db.client.connection.state' },
    },
    db_client_connection_max: {
      name: 'db.client.connection.max',
      unit: '{connection}',
      attributes: pool,
    },
    db_client_connection_pending_requests: {
      name: 'db.client.connection.pending_requests',
      unit: '{request}',
      attributes: pool,
    },
    pis_consumer_handled_seconds: {
      name: 'messaging.process.duration',
      unit: 's',
      attributes: {
        group: 'messaging.consumer.group.name',
        topic: 'messaging.destination.name',
        outcome: 'pis.outcome',
      },
      constants: {
        'messaging.system': messagingSystem,
        'messaging.operation.name': 'process',
      },
    },
    pis_relay_published_total: {
      name: 'messaging.client.sent.messages',
      unit: '{message}',
      attributes: { topic: 'messaging.destination.name' },
      constants: { 'messaging.system': 'kafka', 'messaging.operation.name': 'send' },
    },
  };
}
