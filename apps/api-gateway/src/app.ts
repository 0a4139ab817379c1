import { defineApp, gatewayEnv, webhooksEnv } from '@pis/service-kit';
import { ApiGatewayModule, configureHttp } from './api-gateway.module.js';

export const apiGateway = defineApp({
  name: 'api-gateway',
  env: { ...gatewayEnv, ...webhooksEnv },
  consumers: [],
  publicPort: true,
  configureHttp,
  module: (config) => ApiGatewayModule.register(config),
});
