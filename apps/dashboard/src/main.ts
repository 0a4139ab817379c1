import { runApp } from '@pis/service-kit';
import { dashboard } from './app.js';

await runApp(dashboard);
