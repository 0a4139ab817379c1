/** Contacts and originators, and how the organization itself appears. */
import type { ShownCorrection } from '@pis/commands';
import {
  contactCreateSchema,
  contactListSchema,
  type contactPatchSchema,
  type ContactView,
  originatorListSchema,
  type originatorPatchSchema,
  type OriginatorView,
} from '@pis/contracts';
import type { ReportedReturn } from '@pis/domain';
import { z } from 'zod';
import { op } from '../operation.js';

/** Of a search: longer than any name that is accepted. */
const searchMax = 300;
const changeCodeMax = 3;

export interface ContactPage {
  readonly contact: ContactView;
  /** Whether a payment may go to the account without a link. */
  readonly isActive: boolean;
  /** The last one on this account. */
  readonly lastReturn: ReportedReturn | null;
  /** The last notification of change on this account. */
  readonly correction: (ShownCorrection & { readonly meaning: string }) | null;
}

/** The correction that the user has seen. */
const answered = z.object({
  paymentId: z.uuid(),
  changeCode: z.string().min(1).max(changeCodeMax),
});

export const partyOperations = {
  /** The logo as a `data:` URL; null without one. */
  getLogo: op<string | null>()({ method: 'GET', path: '/organization/logo', role: 'viewer' }),
  /** With `search`, contacts whose names and e-mail address contain all its words. Then a page may be short. */
  listContacts: op<readonly ContactView[]>()({
    method: 'GET',
    path: '/contacts',
    role: 'viewer',
    query: contactListSchema.extend({ search: z.string().max(searchMax).optional() }),
  }),
  getContact: op<ContactPage>()({ method: 'GET', path: '/contacts/:contactId', role: 'viewer' }),
  createContact: op<ContactView>()({
    method: 'POST',
    path: '/contacts',
    role: 'operator',
    body: contactCreateSchema,
  }),
  /** The body is that of PATCH /v1/contacts/:id. The use case checks it: what it may clear depends on the contact. */
  changeContact: op<ContactView>()({
    method: 'PATCH',
    path: '/contacts/:contactId',
    role: 'operator',
    body: z.custom<z.input<typeof contactPatchSchema>>(),
  }),
  /** Replaces what a notification of change says is wrong with the account. */
  applyCorrection: op<ContactView>()({
    method: 'POST',
    path: '/contacts/:contactId/correction/apply',
    role: 'operator',
    body: answered,
  }),
  /** Leaves the account as it is. It counts as active again. */
  dismissCorrection: op<ContactView>()({
    method: 'POST',
    path: '/contacts/:contactId/correction/dismiss',
    role: 'operator',
    body: answered,
  }),
  listOriginators: op<readonly OriginatorView[]>()({
    method: 'GET',
    path: '/originators',
    role: 'viewer',
    query: originatorListSchema,
  }),
  getOriginator: op<OriginatorView>()({
    method: 'GET',
    path: '/originators/:originatorId',
    role: 'viewer',
  }),
  /** The body is that of PATCH /v1/originators/:id. The use case checks it. */
  changeOriginator: op<OriginatorView>()({
    method: 'PATCH',
    path: '/originators/:originatorId',
    role: 'admin',
    body: z.custom<z.input<typeof originatorPatchSchema>>(),
  }),
} as const;
