import { dashboardEnv, defineApp, webhooksEnv } from '@pis/service-kit';
import { configureHttp, DashboardModule } from './dashboard.module.js';

export const dashboard = defineApp({
  name: 'dashboard',
  env: { ...dashboardEnv, ...webhooksEnv },
  consumers: [],
  publicPort: true,
  configureHttp,
  module: (config) => DashboardModule.register(config),
});
