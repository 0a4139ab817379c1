import { runApp } from '@pis/service-kit';
import { directoryProjector } from './app.js';

await runApp(directoryProjector);
