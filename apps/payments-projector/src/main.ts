import { runApp } from '@pis/service-kit';
import { paymentsProjector } from './app.js';

await runApp(paymentsProjector);
