import { runApp } from '@pis/service-kit';
import { railExecutor } from './app.js';

await runApp(railExecutor);
