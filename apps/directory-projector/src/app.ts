import { auditEnv, defineApp, webhooksEnv } from '@pis/service-kit';
import { DirectoryProjectorModule } from './directory-projector.module.js';

const { PIS_WEBHOOK_TIMEOUT_MS } = webhooksEnv;

export const directoryProjector = defineApp({
  name: 'directory-projector',
  env: { PIS_WEBHOOK_TIMEOUT_MS, ...auditEnv },
  consumers: [],
  module: (config) => DirectoryProjectorModule.register(config),
});
