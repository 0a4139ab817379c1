import { Controller, Get, Inject, Patch, Post, Req } from '@nestjs/common';
import { ContactDirectory } from '@pis/commands';
import {
  contactCreateSchema,
  contactListSchema,
  contactView,
  type ContactView,
  validate,
} from '@pis/contracts';
import { accepted, type Answer, answer, bodyOf, callerOf, contextOf, idIn } from '@pis/http-api';
import type { DirectoryQuery } from '@pis/read-models';
import type { FastifyRequest } from 'fastify';
import { DirectoryLists } from './directory-lists.js';
import { granted } from './refusals.js';
import { DIRECTORY_QUERY } from './tokens.js';

@Controller('v1/contacts')
export class ContactsController {
  constructor(
    @Inject(ContactDirectory) private readonly directory: ContactDirectory,
    @Inject(DirectoryLists) private readonly lists: DirectoryLists,
    @Inject(DIRECTORY_QUERY) private readonly query: DirectoryQuery,
  ) {}

  @Post()
  async create(
    @Req() request: FastifyRequest,
  ): Promise<Answer<Pick<ContactView, 'contactId' | 'createdAt'>>> {
    const { organizationId } = callerOf(request);
    const body = accepted(validate(contactCreateSchema, bodyOf(request)));
    const created = granted(await this.directory.create(organizationId, body, contextOf(request)));
    return answer({ contactId: created.contactId, createdAt: created.createdAt });
  }

  @Get()
  list(@Req() request: FastifyRequest): Promise<Answer<readonly ContactView[]>> {
    const { organizationId } = callerOf(request);
    return this.lists.page('contacts', request, contactListSchema, ({ originatorId }, page) =>
      this.query.contacts(organizationId, { originatorId }, page),
    );
  }

  @Patch(':id')
  async update(@Req() request: FastifyRequest): Promise<Answer<ContactView>> {
    const { organizationId } = callerOf(request);
    const contactId = idIn(request, 'contactId');
    const context = contextOf(request);
    const body = bodyOf(request);
    const updated = await this.directory.update(organizationId, contactId, body, context);
    return answer(contactView(granted(updated)));
  }
}
