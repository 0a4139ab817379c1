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
  // Documents as sealed bytes, in PostgreSQL or an S3-compatible store.
  documents: ['keyring', 'postgres'],
  // Banks: formats, connections, and the tables of what goes to them and comes from them.
  'bank-rails': ['domain', 'keyring', 'postgres'],
  webhooks: ['domain'],
  // Statement files of banks: camt.053 and BAI2.
  'bank-statements': ['bank-rails', 'domain', 'postgres'],

  // What is on a monthly statement, and its PDF.
  statements: ['documents', 'domain', 'event-store', 'keyring', 'postgres', 'read-models'],

  // The package that client developers install. It contains only the public API.
  client: [],

  // Starts servers on this machine. Does not know the service.
  'local-servers': [],

  // Dashboard users: their use cases, and the tables of credentials and sessions.
  users: ['contracts', 'domain', 'event-store', 'keyring', 'postgres'],

  // Leaves, Merkle tree, checkpoints, proofs, and what verifies the log.
  audit: ['domain', 'event-store', 'postgres', 'statements'],

  // Use cases over the event store, without HTTP.
  commands: ['bank-rails', 'contracts', 'domain', 'event-store', 'keyring', 'users', 'webhooks'],
  // Fees of a month: closing and collecting them.
  fees: ['bank-rails', 'commands', 'domain', 'event-store', 'keyring', 'postgres', 'read-models'],
  // Facts of the log as public messages.
  integration: ['contracts', 'domain', 'event-store', 'messaging', 'read-models'],
  // The tables of webhook deliveries.
  'webhook-deliveries': ['contracts', 'domain', 'postgres', 'webhooks'],
  // Files of records: requests, the worker that writes them, and their bytes.
  exports: [
    'bank-statements',
    'contracts',
    'documents',
    'keyring',
    'postgres',
    'read-models',
    'webhook-deliveries',
  ],
  // What starts and stops an app.
  'service-kit': [
    'bank-rails',
    'contracts',
    'documents',
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
    'documents',
    'domain',
    'event-store',
    'keyring',
    'postgres',
    'read-models',
    'service-kit',
  ],

  // Write side.
  'api-gateway': [
    'audit',
    'bank-rails',
    'commands',
    'contracts',
    'documents',
    'domain',
    'event-store',
    'exports',
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
    'audit',
    'bank-rails',
    'commands',
    'contracts',
    'documents',
    'domain',
    'event-store',
    'exports',
    'http-api',
    'integration',
    'keyring',
    'postgres',
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
    'audit',
    'bank-rails',
    'contracts',
    'domain',
    'event-store',
    'exports',
    'keyring',
    'messaging',
    'read-models',
    'service-kit',
    'webhook-deliveries',
  ],
  // Fees of a month, collected from originators.
  'fee-collector': ['bank-rails', 'event-store', 'fees', 'keyring', 'read-models', 'service-kit'],
  // Monthly statements and exports, made in the background.
  'statement-generator': [
    'contracts',
    'documents',
    'domain',
    'event-store',
    'exports',
    'keyring',
    'read-models',
    'service-kit',
    'statements',
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
  // Shares no code with the executor that it tests, except the formats of the rails and of statements.
  'bank-simulator': ['bank-rails', 'bank-statements', 'domain', 'postgres', 'service-kit'],
  cli: [
    'audit',
    'bank-rails',
    'bank-statements',
    'commands',
    'contracts',
    'documents',
    'domain',
    'event-store',
    'fees',
    'integration',
    'keyring',
    'local-servers',
    'messaging',
    'postgres',
    'read-models',
    'service-kit',
    'statements',
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
    'users',
    'api-gateway',
    'bank-simulator',
    'dashboard',
    'directory-projector',
    'event-relay',
    'fee-collector',
    'payment-pages',
    'payments-projector',
    'rail-executor',
    'statement-generator',
    'webhook-dispatcher',
  ],
};

/**
 * Projects that import only types of other projects. The dashboard's pages are held against the API of their
 * server by the compiler. Nothing of the server is in their bundle.
 */
export const importsTypesOnly = ['dashboard-web'];
