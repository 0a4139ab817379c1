/**
 * The contract of the API, rule by rule. The title of each test begins with the ID of a rule in
 * docs/specification.md or docs/api-decisions.md. All tests use HTTP, against one system.
 */
import { startTarget } from './support/target.js';
import './headings/service.js';
import './headings/envelope-and-originator.js';
import './headings/contact-create-request.js';
import './headings/payment-create-request.js';
import './headings/payment-single-read.js';
import './headings/parties-and-masking.js';
import './headings/webhook-endpoint-fields.js';

import './headings/endpoints.js';
import './headings/originators-and-contacts.js';
import './headings/payment-creation.js';
import './headings/payment-read-and-list.js';

import './headings/webhook-endpoints.js';

import './headings/authentication.js';
import './headings/errors.js';
import './headings/requests.js';
import './headings/party-items.js';
import './headings/party-input.js';
import './headings/payment-decisions.js';
import './headings/rails.js';
import './headings/validation-codes.js';
import './headings/sandbox.js';

// A payment without a confirmation is waited for in several tests.
startTarget({ PIS_RAIL_CONFIRMATION_TIMEOUT_MS: '3000' });
