/** Rails. Each operation is declared once: see operation.ts. */
import { paymentRequest } from '../openapi/examples.js';
import * as examples from '../openapi/rail-examples.js';
import { paymentCreateSchema } from '../payment-requests.js';
import * as responses from '../responses.js';
import { onBody, operation, readers } from './operation.js';

export const evaluateRails = operation({
  method: 'POST',
  path: '/v1/rails/evaluate',
  access: readers,
  operationId: 'evaluateRails',
  tag: 'Rails',
  summary: 'Ask which rail a payment would take',
  description:
    'Takes the request of a payment and creates nothing. The answer is the choice at this moment: a payment that is created later may take another rail.',
  body: paymentCreateSchema,
  examples: { outbound: paymentRequest },
  answers: {
    200: {
      description: 'The rail, and why each other one is not chosen.',
      data: responses.railEvaluationSchema,
      examples: { instant: examples.railEvaluation, none: examples.railEvaluationWithout },
    },
  },
  links: [
    {
      to: 'createPayment',
      body: {
        originatorId: '$request.body#/originatorId',
        contactId: '$request.body#/contactId',
        paymentAmount: '$request.body#/paymentAmount',
        direction: '$request.body#/direction',
      },
    },
  ],
  errors: [...onBody, 'NOT_FOUND'],
});
