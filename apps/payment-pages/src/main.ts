import { runApp } from '@pis/service-kit';
import { paymentPages } from './app.js';

await runApp(paymentPages);
