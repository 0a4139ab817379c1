/**
 * Who may import whom. This table is the architecture: eslint.config.mjs enforces it and
 * boundaries.spec.mjs proves that the enforcement is on. A project missing here may import nothing.
 */
export const mayImport = {
  // Pure. No npm package, no Node built-in, no clock, no randomness.
  domain: [],
  // What crosses a boundary: zod and the domain's types.
  contracts: ['domain'],

  // Ports and adapters: one outside system each.
  'event-store': ['domain'],
  messaging: [],
  'read-models': ['domain', 'event-store'],
  keyring: [],
  'bank-rails': ['domain'],
  webhooks: ['domain'],

  // What client developers install: the public API and nothing of ours inside.
  client: [],

  // Starts servers on this machine; knows nothing of ours.
  'local-servers': [],
  // Where the adapters are composed into what every app shares.
  'service-kit': ['contracts', 'domain', 'event-store', 'keyring', 'messaging', 'read-models'],

  // Write side.
  'api-gateway': [
    'bank-rails',
    'contracts',
    'domain',
    'event-store',
    'keyring',
    'read-models',
    'service-kit',
    'webhooks',
  ],
  // Event store to broker.
  'event-relay': ['contracts', 'domain', 'event-store', 'messaging', 'service-kit'],
  // Event store to PostgreSQL.
  'payments-projector': ['domain', 'event-store', 'read-models', 'service-kit'],
  'directory-projector': ['domain', 'event-store', 'read-models', 'service-kit'],
  // Broker to the outside world.
  'rail-executor': [
    'bank-rails',
    'contracts',
    'domain',
    'event-store',
    'keyring',
    'messaging',
    'service-kit',
  ],
  'webhook-dispatcher': [
    'contracts',
    'domain',
    'event-store',
    'keyring',
    'messaging',
    'read-models',
    'service-kit',
    'webhooks',
  ],
  // Shares no code with what it is there to catch, but for the wire format of the rail.
  'bank-simulator': ['bank-rails', 'contracts', 'service-kit'],
  cli: [
    'bank-rails',
    'contracts',
    'domain',
    'event-store',
    'keyring',
    'local-servers',
    'messaging',
    'read-models',
    'service-kit',
    'webhooks',
  ],
  // The only app that imports apps.
  'all-in-one': [
    'bank-rails',
    'contracts',
    'domain',
    'event-store',
    'keyring',
    'local-servers',
    'messaging',
    'read-models',
    'service-kit',
    'api-gateway',
    'bank-simulator',
    'directory-projector',
    'event-relay',
    'payments-projector',
    'rail-executor',
    'webhook-dispatcher',
  ],
};
