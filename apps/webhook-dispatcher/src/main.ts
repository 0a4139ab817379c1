import { runApp, webhooksEnv } from '@pis/service-kit';
import { WebhookDispatcherModule } from './webhook-dispatcher.module.js';

await runApp({
  name: 'webhook-dispatcher',
  env: webhooksEnv,
  consumers: ['webhook-dispatcher'],
  modules: (config) => [WebhookDispatcherModule.register(config)],
});
