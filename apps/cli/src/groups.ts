import type { Command } from 'commander';

/** The commands by their first word. Only those asked for are loaded: most of a short command's time is loading. */
export const groups: Readonly<Record<string, () => Promise<Command>>> = {
  organization: async () => (await import('./commands/organization.js')).organizationCommands(),
  originator: async () => (await import('./commands/originator.js')).originatorCommands(),
  contact: async () => (await import('./commands/contact.js')).contactCommands(),
  erasures: async () => (await import('./commands/erasures.js')).erasureCommands(),
  audit: async () => (await import('./commands/audit.js')).auditCommands(),
  'api-key': async () => (await import('./commands/api-key.js')).apiKeyCommands(),
  user: async () => (await import('./commands/user.js')).userCommands(),
  migrate: async () => (await import('./commands/migrate.js')).migrateCommand(),
  'event-store': async () => (await import('./commands/event-store.js')).eventStoreCommands(),
  keys: async () => (await import('./commands/keys.js')).keysCommands(),
  kafka: async () => (await import('./commands/kafka.js')).kafkaCommands(),
  projections: async () => (await import('./commands/projections.js')).projectionCommands(),
  'dead-letters': async () => (await import('./commands/dead-letters.js')).deadLetterCommands(),
  quarantine: async () => (await import('./commands/quarantine.js')).quarantineCommands(),
  fees: async () => (await import('./commands/fees.js')).feeCommands(),
  'settlement-account': async () =>
    (await import('./commands/settlement-account.js')).settlementAccountCommands(),
  statements: async () => (await import('./commands/statements.js')).statementCommands(),
  exports: async () => (await import('./commands/exports.js')).exportCommands(),
  payments: async () => (await import('./commands/payments.js')).paymentCommands(),
  rails: async () => (await import('./commands/rails.js')).railCommands(),
  reconcile: async () => (await import('./commands/reconcile.js')).reconcileCommand(),
  'routing-directory': async () =>
    (await import('./commands/routing-directory.js')).routingDirectoryCommands(),
  sandbox: async () => (await import('./commands/sandbox.js')).sandboxCommands(),
  consumers: async () => (await import('./commands/consumers.js')).consumerCommands(),
  relay: async () => (await import('./commands/relay.js')).relayCommands(),
  store: async () => (await import('./commands/store.js')).storeCommands(),
  webhooks: async () => (await import('./commands/webhooks.js')).webhookCommands(),
};
