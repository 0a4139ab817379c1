/** Contacts and originators, and the organization's logo. */
import { changeCodes, isChangeCode } from '@pis/bank-rails/ach';
import type { ContactAccounts, ContactDirectory, OriginatorDirectory } from '@pis/commands';
import {
  type ContactListQuery,
  contactView,
  type ContactView,
  originatorView,
} from '@pis/contracts';
import {
  type Answer,
  type Cursors,
  type DirectoryLists,
  type Given,
  granted,
  type OwnWrites,
  Turns,
} from '@pis/http-api';
import { type DirectoryQuery, OrganizationLogos, searchContacts } from '@pis/read-models';
import type pg from 'pg';
import type { ContactPage, partyOperations } from '../operations/parties.js';
import { type Handlers, Paged } from '../routes.js';

export interface PartyServices {
  readonly pool: pg.Pool;
  readonly contacts: ContactDirectory;
  readonly accounts: ContactAccounts;
  readonly originators: OriginatorDirectory;
  readonly lists: DirectoryLists;
  readonly cursors: Cursors;
  readonly ownWrites: OwnWrites;
  readonly query: DirectoryQuery;
}

/** Contacts of a page of a search that names no limit. */
const foundDefault = 20;
/** Of one organization. A search compares up to 10,000 contacts, and the process does nothing else meanwhile. */
const searchesMax = 20;

export function partyHandlers(services: PartyServices): Handlers<keyof typeof partyOperations> {
  const { contacts, accounts, originators, lists, query } = services;
  const searches = new Turns({ atOnceMax: 1, sizeMax: searchesMax });
  const logos = new OrganizationLogos(services.pool);
  return {
    async getLogo({ organizationId }) {
      const logo = await logos.of(organizationId);
      return logo && `data:image/png;base64,${logo.toString('base64')}`;
    },
    listContacts: async ({ organizationId, givenQuery }) =>
      givenQuery.ok && givenQuery.value.search !== undefined
        ? found({ ...services, searches }, organizationId, givenQuery, givenQuery.value.search)
        : paged(
            await lists.page('contacts', organizationId, givenQuery, ({ originatorId }, page) =>
              query.contacts(organizationId, { originatorId }, page),
            ),
          ),
    getContact: ({ organizationId, ids }) => pageOf(services, organizationId, ids.contactId),
    createContact: async ({ organizationId, body, by }) =>
      contactView(granted(await contacts.create(organizationId, body, by))),
    changeContact: async ({ organizationId, ids, body, by }) =>
      contactView(granted(await contacts.update(organizationId, ids.contactId, body, by))),
    applyCorrection: async ({ organizationId, ids, body, by }) =>
      contactView(granted(await accounts.apply(organizationId, ids.contactId, body, by))),
    dismissCorrection: async ({ organizationId, ids, body, by }) =>
      contactView(granted(await accounts.dismiss(organizationId, ids.contactId, body, by))),
    listOriginators: async ({ organizationId, givenQuery }) =>
      paged(
        await lists.page('originators', organizationId, givenQuery, (_query, page) =>
          query.originators(organizationId, page),
        ),
      ),
    getOriginator: async ({ organizationId, ids }) =>
      originatorView(granted(await originators.find(organizationId, ids.originatorId))),
    changeOriginator: async ({ organizationId, ids, body, by }) =>
      originatorView(granted(await originators.update(organizationId, ids.originatorId, body, by))),
  };
}

async function found(
  { pool, cursors, ownWrites, searches }: PartyServices & { readonly searches: Turns },
  organizationId: string,
  given: Given<ContactListQuery>,
  text: string,
): Promise<Paged<readonly ContactView[]>> {
  const { query, after } = cursors.page('contacts', organizationId, given);
  const { originatorId, limit = foundDefault } = query;
  await ownWrites.visible('directory', organizationId);
  const search = { text, originatorId };
  const { items, next } = await searches.take(organizationId, () =>
    searchContacts(pool, organizationId, search, { limit, after }),
  );
  const nextCursor = next && cursors.encode('contacts', organizationId, next);
  return new Paged(items, { limit, nextCursor });
}

async function pageOf(
  { accounts }: PartyServices,
  organizationId: string,
  contactId: string,
): Promise<ContactPage> {
  const { contact, isActive, correction } = granted(await accounts.find(organizationId, contactId));
  return {
    contact: contactView(contact),
    isActive,
    lastReturn: contact.lastReturn,
    correction: correction && { ...correction, meaning: meaningOf(correction.changeCode) },
  };
}

function meaningOf(changeCode: string): string {
  return isChangeCode(changeCode) ? changeCodes[changeCode] : 'A correction of the account';
}

function paged<Item>({ data, meta }: Answer<readonly Item[]>) {
  return meta.pagination === undefined ? data : new Paged(data, meta.pagination);
}
