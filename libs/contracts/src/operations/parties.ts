/** Originators and contacts. Each operation is declared once: see operation.ts. */
import * as examples from '../openapi/examples.js';
import {
  contactCreateSchema,
  contactPatchSchema,
  contactReadSchema,
  originatorPatchSchema,
  originatorReadSchema,
} from '../party-requests.js';
import * as responses from '../responses.js';
import { answered, first, onBody, onQuery, operation, readers, writers } from './operation.js';

const onContact = { name: 'contactId', of: 'contact', example: examples.contactId } as const;
const wholeOrPaged =
  'Newest first. Without `limit` and `cursor` the list is complete. With one of them it has pages.';

export const listOriginators = operation({
  method: 'GET',
  path: '/v1/originators/',
  access: readers,
  operationId: 'listOriginators',
  tag: 'Originators',
  summary: 'List originators',
  description: `${wholeOrPaged} A successful call also verifies the API key.`,
  query: originatorReadSchema,
  answers: {
    200: {
      description: 'The originators of your organization.',
      data: responses.originatorListItemSchema,
      list: responses.listMetaSchema,
      examples: { originators: [examples.originator] },
    },
  },
  links: [
    { to: 'updateOriginator', parameters: { originatorId: first('originatorId') } },
    { to: 'listContacts', parameters: { originatorId: first('originatorId') } },
  ],
  errors: onQuery,
});

export const updateOriginator = operation({
  method: 'PATCH',
  path: '/v1/originators/{originatorId}',
  access: writers,
  operationId: 'updateOriginator',
  tag: 'Originators',
  summary: 'Update an originator',
  description: 'Existing payments keep the originator as it was.',
  ids: [{ name: 'originatorId', of: 'originator', example: examples.originatorId }],
  body: originatorPatchSchema,
  examples: { email: { email: 'accounts@example.com' } },
  answers: {
    200: {
      description: 'The originator after the update.',
      data: responses.originatorSchema,
      examples: { updated: examples.originator },
    },
  },
  errors: [...onBody, 'NOT_FOUND'],
});

export const createContact = operation({
  method: 'POST',
  path: '/v1/contacts/',
  access: writers,
  operationId: 'createContact',
  tag: 'Contacts',
  summary: 'Create a contact',
  description:
    'Repeating the request is safe: an existing contact is a 409. Two contacts are the same if originator, entity type, names, e-mail address and bank account are the same.',
  body: contactCreateSchema,
  examples: { individual: examples.contactRequest, business: examples.businessRequest },
  answers: {
    201: {
      description: 'Created.',
      data: responses.contactCreatedSchema,
      examples: {
        created: { contactId: examples.contactId, createdAt: examples.contact.createdAt },
      },
    },
  },
  links: [
    { to: 'updateContact', parameters: { contactId: answered('contactId') } },
    {
      to: 'createPayment',
      body: {
        originatorId: '$request.body#/originatorId',
        contactId: answered('contactId'),
      },
    },
  ],
  errors: [...onBody, 'NOT_FOUND', 'CONFLICT'],
});

export const listContacts = operation({
  method: 'GET',
  path: '/v1/contacts/',
  access: readers,
  operationId: 'listContacts',
  tag: 'Contacts',
  summary: 'List contacts',
  description: wholeOrPaged,
  query: contactReadSchema,
  answers: {
    200: {
      description: 'The contacts of your organization, or of one originator.',
      data: responses.contactListItemSchema,
      list: responses.listMetaSchema,
      examples: { contacts: [examples.contact] },
    },
  },
  links: [
    { to: 'updateContact', parameters: { contactId: first('contactId') } },
    {
      to: 'createPayment',
      body: { originatorId: first('originatorId'), contactId: first('contactId') },
    },
    { to: 'listPayments', parameters: { contactId: first('contactId') } },
  ],
  errors: onQuery,
});

export const updateContact = operation({
  method: 'PATCH',
  path: '/v1/contacts/{contactId}',
  access: writers,
  operationId: 'updateContact',
  tag: 'Contacts',
  summary: 'Update a contact',
  description:
    'Repeating the request has no further effect. `legalAddress` and `bankAccount` are replaced as a whole.',
  ids: [onContact],
  body: contactPatchSchema,
  examples: {
    bankAccount: { bankAccount: examples.bankAccountRequest },
    clear: { phoneNumber: null },
  },
  answers: {
    200: {
      description: 'The contact after the update.',
      data: responses.contactSchema,
      examples: { updated: examples.contact },
    },
  },
  errors: [...onBody, 'NOT_FOUND', 'CONFLICT'],
});
