import { dashboardEnv, defineApp, documentsEnv, webhooksEnv } from '@pis/service-kit';
import { configureHttp, DashboardModule } from './dashboard.module.js';

export const dashboard = defineApp({
  name: 'dashboard',
  env: { ...dashboardEnv, ...webhooksEnv, ...documentsEnv },
  requiredInProduction: {
    PIS_PUBLIC_URL:
      'the links of payments begin with it. Without it they begin with the address of the dashboard, which does not serve their pages',
  },
  consumers: [],
  publicPort: true,
  configureHttp,
  module: (config) => DashboardModule.register(config),
});
