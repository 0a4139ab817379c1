/** Contacts and originators. */
import {
  contactCreateSchema,
  contactListSchema,
  type ContactView,
  originatorListSchema,
  type OriginatorView,
} from '@pis/contracts';
import { op } from '../operation.js';

export const partyOperations = {
  listContacts: op<readonly ContactView[]>()({
    method: 'GET',
    path: '/contacts',
    role: 'viewer',
    query: contactListSchema,
  }),
  createContact: op<ContactView>()({
    method: 'POST',
    path: '/contacts',
    role: 'operator',
    body: contactCreateSchema,
  }),
  /** The body is that of PATCH /v1/contacts/:id. */
  changeContact: op<ContactView>()({
    method: 'PATCH',
    path: '/contacts/:contactId',
    role: 'operator',
  }),
  listOriginators: op<readonly OriginatorView[]>()({
    method: 'GET',
    path: '/originators',
    role: 'viewer',
    query: originatorListSchema,
  }),
  /** The body is that of PATCH /v1/originators/:id. */
  changeOriginator: op<OriginatorView>()({
    method: 'PATCH',
    path: '/originators/:originatorId',
    role: 'admin',
  }),
} as const;
