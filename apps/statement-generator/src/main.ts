import { runApp } from '@pis/service-kit';
import { statementGenerator } from './app.js';

await runApp(statementGenerator);
