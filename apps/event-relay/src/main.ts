import { runApp } from '@pis/service-kit';
import { eventRelay } from './app.js';

await runApp(eventRelay);
