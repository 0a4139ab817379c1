import { defineApp, dispatcherEnv, webhooksEnv } from '@pis/service-kit';
import { WebhookDispatcherModule } from './webhook-dispatcher.module.js';

export const webhookDispatcher = defineApp({
  name: 'webhook-dispatcher',
  env: { ...webhooksEnv, ...dispatcherEnv },
  consumers: ['webhook-dispatcher'],
  module: (config) => WebhookDispatcherModule.register(config),
});
