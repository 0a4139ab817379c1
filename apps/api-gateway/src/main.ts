import { runApp } from '@pis/service-kit';
import { apiGateway } from './app.js';

await runApp(apiGateway);
