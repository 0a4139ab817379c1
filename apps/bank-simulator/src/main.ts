import { runApp } from '@pis/service-kit';
import { bankSimulator } from './app.js';

await runApp(bankSimulator);
