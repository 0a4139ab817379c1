import { runApp } from '@pis/service-kit';
import { feeCollector } from './app.js';

await runApp(feeCollector);
