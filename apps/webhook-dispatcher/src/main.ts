import { runApp } from '@pis/service-kit';
import { webhookDispatcher } from './app.js';

await runApp(webhookDispatcher);
