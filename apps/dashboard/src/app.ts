import { dashboardEnv, defineApp } from '@pis/service-kit';
import { configureHttp, DashboardModule } from './dashboard.module.js';

export const dashboard = defineApp({
  name: 'dashboard',
  env: dashboardEnv,
  consumers: [],
  publicPort: true,
  configureHttp,
  module: (config) => DashboardModule.register(config),
});
