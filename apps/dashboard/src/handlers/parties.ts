/** Contacts and originators. */
import type { ContactDirectory, OriginatorDirectory } from '@pis/commands';
import { contactView, originatorView } from '@pis/contracts';
import { type Answer, type DirectoryLists, granted } from '@pis/http-api';
import type { DirectoryQuery } from '@pis/read-models';
import type { partyOperations } from '../operations/parties.js';
import { type Handlers, Paged } from '../routes.js';

export interface PartyServices {
  readonly contacts: ContactDirectory;
  readonly originators: OriginatorDirectory;
  readonly lists: DirectoryLists;
  readonly query: DirectoryQuery;
}

export function partyHandlers(services: PartyServices): Handlers<keyof typeof partyOperations> {
  const { contacts, originators, lists, query } = services;
  return {
    listContacts: async ({ organizationId, givenQuery }) =>
      paged(
        await lists.page('contacts', organizationId, givenQuery, ({ originatorId }, page) =>
          query.contacts(organizationId, { originatorId }, page),
        ),
      ),
    createContact: async ({ organizationId, body, by }) =>
      contactView(granted(await contacts.create(organizationId, body, by))),
    changeContact: async ({ organizationId, ids, body, by }) =>
      contactView(granted(await contacts.update(organizationId, ids.contactId, body, by))),
    listOriginators: async ({ organizationId, givenQuery }) =>
      paged(
        await lists.page('originators', organizationId, givenQuery, (_query, page) =>
          query.originators(organizationId, page),
        ),
      ),
    changeOriginator: async ({ organizationId, ids, body, by }) =>
      originatorView(granted(await originators.update(organizationId, ids.originatorId, body, by))),
  };
}

function paged<Item>({ data, meta }: Answer<readonly Item[]>) {
  return meta.pagination === undefined ? data : new Paged(data, meta.pagination);
}
