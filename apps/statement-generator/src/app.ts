import { defineApp, documentsEnv } from '@pis/service-kit';
import { StatementGeneratorModule } from './statement-generator.module.js';

export const statementGenerator = defineApp({
  name: 'statement-generator',
  env: documentsEnv,
  consumers: [],
  module: (config) => StatementGeneratorModule.register(config),
});
