/**
 * Which project may import which. eslint.config.mjs enforces this table, and boundaries.spec.mjs proves that the
 * lint rule is active. A project that is missing here may import nothing.
 */
export const mayImport = {
  // Pure. No npm package, no Node built-in, no clock, no randomness.
  domain: [],
  // What crosses a boundary: zod and the domain's types.
  contracts: ['domain'],

  // Ports and adapters: one outside system each.
  postgres: [],
  'event-store': ['domain', 'postgres'],
  messaging: ['postgres'],
  // The lists hold the items that contracts declare.
  'read-models': ['contracts', 'domain', 'event-store', 'postgres'],
  keyring: ['event-store', 'postgres'],
  // Banks: formats, connections, and the tables of what goes to them and comes from them.
  'bank-rails': ['domain', 'keyring', 'postgres'],
  webhooks: ['domain'],

  // The package that client developers install. It contains only the public API.
  client: [],

  // Starts servers on this machine. Does not know the service.
  'local-servers': [],

  // Dashboard users: their use cases, and the tables of credentials and sessions.
  users: ['contracts', 'domain', 'event-store', 'keyring', 'postgres'],

  // Use cases over the event store, without HTTP.
  commands: ['bank-rails', 'contracts', 'domain', 'event-store', 'keyring', 'users', 'webhooks'],
  // Facts of the log as public messages.
  integration: ['contracts', 'domain', 'event-store', 'messaging', 'read-models'],
  // The tables of webhook deliveries.
  'webhook-deliveries': ['contracts', 'domain', 'postgres', 'webhooks'],
  // What starts and stops an app.
  'service-kit': [
    'bank-rails',
    'contracts',
    'domain',
    'event-store',
    'integration',
    'keyring',
    'messaging',
    'postgres',
    'read-models',
  ],
  // The HTTP edge that every app with an API shares.
  'http-api': [
    'commands',
    'contracts',
    'domain',
    'event-store',
    'keyring',
    'postgres',
    'read-models',
    'service-kit',
  ],

  // Write side.
  'api-gateway': [
    'bank-rails',
    'commands',
    'contracts',
    'domain',
    'event-store',
    'http-api',
    'integration',
    'keyring',
    'postgres',
    'read-models',
    'service-kit',
    'webhook-deliveries',
    'webhooks',
  ],
  // The dashboard's server.
  dashboard: [
    'bank-rails',
    'commands',
    'contracts',
    'domain',
    'event-store',
    'http-api',
    'integration',
    'keyring',
    'read-models',
    'service-kit',
    'users',
    'webhook-deliveries',
    'webhooks',
  ],
  // The pages of payment links.
  'payment-pages': [
    'bank-rails',
    'commands',
    'contracts',
    'domain',
    'event-store',
    'http-api',
    'keyring',
    'read-models',
    'service-kit',
  ],
  // Runs in a browser. It imports types alone: see importsTypesOnly.
  'dashboard-web': ['dashboard'],
  // Event store to broker.
  'event-relay': ['event-store', 'integration', 'messaging', 'postgres', 'service-kit'],
  // Event store to PostgreSQL.
  'payments-projector': ['read-models', 'service-kit'],
  'directory-projector': [
    'bank-rails',
    'contracts',
    'domain',
    'event-store',
    'keyring',
    'messaging',
    'read-models',
    'service-kit',
    'webhook-deliveries',
  ],
  // Broker to the outside world.
  'rail-executor': [
    'bank-rails',
    'commands',
    'contracts',
    'domain',
    'event-store',
    'keyring',
    'messaging',
    'postgres',
    'read-models',
    'service-kit',
  ],
  'webhook-dispatcher': [
    'bank-rails',
    'contracts',
    'domain',
    'event-store',
    'integration',
    'keyring',
    'messaging',
    'postgres',
    'read-models',
    'service-kit',
    'webhook-deliveries',
    'webhooks',
  ],
  // Shares no code with the executor that it tests, except the formats of the rails.
  'bank-simulator': ['bank-rails', 'domain', 'postgres', 'service-kit'],
  cli: [
    'bank-rails',
    'commands',
    'contracts',
    'domain',
    'event-store',
    'integration',
    'keyring',
    'local-servers',
    'messaging',
    'postgres',
    'read-models',
    'service-kit',
    'users',
    'webhook-deliveries',
    'webhooks',
  ],
  // The only app that imports apps.
  'all-in-one': [
    'bank-rails',
    'commands',
    'contracts',
    'event-store',
    'local-servers',
    'messaging',
    'postgres',
    'read-models',
    'service-kit',
    'api-gateway',
    'bank-simulator',
    'dashboard',
    'directory-projector',
    'event-relay',
    'payment-pages',
    'payments-projector',
    'rail-executor',
    'webhook-dispatcher',
  ],
};

/**
 * Projects that import only types of other projects. The dashboard's pages are held against the API of their
 * server by the compiler. Nothing of the server is in their bundle.
 */
export const importsTypesOnly = ['dashboard-web'];
