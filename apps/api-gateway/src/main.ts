import { gatewayEnv, runApp, webhooksEnv } from '@pis/service-kit';
import { ApiGatewayModule, configureHttp } from './api-gateway.module.js';

await runApp({
  name: 'api-gateway',
  env: { ...gatewayEnv, ...webhooksEnv },
  consumers: [],
  publicPort: true,
  configureHttp,
  modules: (config) => [ApiGatewayModule.register(config)],
});
