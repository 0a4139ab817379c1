import { runApp } from '@pis/service-kit';
import { PaymentsProjectorModule } from './payments-projector.module.js';

await runApp({
  name: 'payments-projector',
  env: {},
  consumers: [],
  modules: () => [PaymentsProjectorModule.register()],
});
