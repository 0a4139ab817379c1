import { defineApp } from '@pis/service-kit';
import { EventRelayModule } from './event-relay.module.js';

/** The embedded broker needs no relay. */
export const eventRelay = defineApp({
  name: 'event-relay',
  env: {},
  consumers: [],
  onlyWithBroker: 'kafka',
  module: (config) => EventRelayModule.register(config),
});
