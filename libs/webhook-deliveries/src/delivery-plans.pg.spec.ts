import { describePlansOfQueue } from '@pis/local-servers/testing';
import { statements } from './delivery-statements.js';

describePlansOfQueue('webhook_deliveries', statements);
