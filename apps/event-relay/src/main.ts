import { runApp } from '@pis/service-kit';
import { EventRelayModule } from './event-relay.module.js';

await runApp({
  name: 'event-relay',
  env: {},
  consumers: [],
  modules: (config) => [EventRelayModule.register(config)],
});
