import { runApp } from '@pis/service-kit';
import { DirectoryProjectorModule } from './directory-projector.module.js';

await runApp({
  name: 'directory-projector',
  env: {},
  consumers: [],
  modules: () => [DirectoryProjectorModule.register()],
});
