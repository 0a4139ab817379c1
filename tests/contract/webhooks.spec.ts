/**
 * The contract of states, events and deliveries, rule by rule, as a receiver of webhooks sees it. In a
 * system of its own, whose pauses between attempts are short; the numbers of the contract are
 * those of the defaults, which libs/webhooks tests.
 */
import { startTarget } from './support/target.js';
import './headings/webhook-test.js';
import './headings/states.js';
import './headings/deliveries.js';
import './headings/webhook-decisions.js';

startTarget({
  PIS_RAIL_CONFIRMATION_TIMEOUT_MS: '300',
  PIS_WEBHOOK_RETRY_INITIAL_MS: '200',
  PIS_WEBHOOK_RETRY_MAX_MS: '800',
  PIS_WEBHOOK_RETRY_WINDOW_PAYMENTS_MS: '15000',
  PIS_WEBHOOK_TIMEOUT_MS: '2500',
});
