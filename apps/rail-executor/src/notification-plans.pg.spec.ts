import { describePlansOfQueue } from '@pis/local-servers/testing';
import * as statements from './notification-statements.js';

describePlansOfQueue('rail_notifications', statements);
describePlansOfQueue('rail_notified_references', statements);
