import { Controller, Inject } from '@nestjs/common';
import { ContactDirectory } from '@pis/commands';
import {
  type ContactCreateRequest,
  type ContactListItem,
  type ContactReadQuery,
  contactView,
  type ContactView,
  createContact,
  listContacts,
  updateContact,
} from '@pis/contracts';
import {
  type Answer,
  answer,
  Body,
  Caller,
  Context,
  DirectoryLists,
  type Given,
  GivenQuery,
  granted,
  Id,
  Operation,
  UncheckedBody,
} from '@pis/http-api';
import type { CommandContext } from '@pis/event-store';
import type { DirectoryQuery } from '@pis/read-models';
import { AsOf } from './as-of.js';
import { DIRECTORY_QUERY } from './tokens.js';

@Controller()
export class ContactsController {
  constructor(
    @Inject(ContactDirectory) private readonly directory: ContactDirectory,
    @Inject(DirectoryLists) private readonly lists: DirectoryLists,
    @Inject(DIRECTORY_QUERY) private readonly query: DirectoryQuery,
    @Inject(AsOf) private readonly asOf: AsOf,
  ) {}

  @Operation(createContact)
  async create(
    @Caller() { organizationId }: Caller,
    @Context() context: CommandContext,
    @Body() body: ContactCreateRequest,
  ): Promise<Answer<Pick<ContactView, 'contactId' | 'createdAt'>>> {
    const created = granted(await this.directory.create(organizationId, body, context));
    return answer({ contactId: created.contactId, createdAt: created.createdAt });
  }

  @Operation(listContacts)
  list(
    @Caller() { organizationId }: Caller,
    @GivenQuery() query: Given<ContactReadQuery>,
  ): Promise<Answer<readonly ContactListItem[]>> {
    return this.lists.page('contacts', organizationId, query, ({ originatorId, asOf }, page) =>
      asOf === undefined
        ? this.query.contacts(organizationId, { originatorId }, page)
        : this.asOf.contacts(organizationId, { originatorId }, asOf, page),
    );
  }

  @Operation(updateContact)
  async update(
    @Caller() { organizationId }: Caller,
    @Context() context: CommandContext,
    @Id('contactId') contactId: string,
    @UncheckedBody() body: unknown,
  ): Promise<Answer<ContactView>> {
    const updated = await this.directory.update(organizationId, contactId, body, context);
    return answer(contactView(granted(updated)));
  }
}
