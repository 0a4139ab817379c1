import { defineApp } from '@pis/service-kit';
import { DirectoryProjectorModule } from './directory-projector.module.js';

export const directoryProjector = defineApp({
  name: 'directory-projector',
  env: {},
  consumers: [],
  module: () => DirectoryProjectorModule.register(),
});
