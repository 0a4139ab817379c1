import { defineApp, gatewayEnv } from '@pis/service-kit';
import { configureHttp, PaymentPagesModule } from './payment-pages.module.js';

export const paymentPages = defineApp({
  name: 'payment-pages',
  env: gatewayEnv,
  consumers: [],
  publicPort: true,
  configureHttp,
  module: (config) => PaymentPagesModule.register(config),
});
