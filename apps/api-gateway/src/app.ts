import {
  defineApp,
  documentsEnv,
  gatewayEnv,
  organizationLimitsEnv,
  webhooksEnv,
} from '@pis/service-kit';
import { ApiGatewayModule, configureHttp } from './api-gateway.module.js';

export const apiGateway = defineApp({
  name: 'api-gateway',
  env: { ...gatewayEnv, ...organizationLimitsEnv, ...webhooksEnv, ...documentsEnv },
  consumers: [],
  publicPort: true,
  configureHttp,
  module: (config) => ApiGatewayModule.register(config),
});
