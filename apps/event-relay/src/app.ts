import { defineApp } from '@pis/service-kit';
import { EventRelayModule } from './event-relay.module.js';

/** On the embedded broker there is nothing to relay to. */
export const eventRelay = defineApp({
  name: 'event-relay',
  env: {},
  consumers: [],
  onlyWithBroker: 'kafka',
  module: (config) => EventRelayModule.register(config),
});
