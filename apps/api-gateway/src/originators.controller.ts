import { Controller, Inject } from '@nestjs/common';
import { OriginatorDirectory } from '@pis/commands';
import {
  listOriginators,
  type OriginatorListItem,
  type OriginatorReadQuery,
  originatorView,
  type OriginatorView,
  updateOriginator,
} from '@pis/contracts';
import type { CommandContext } from '@pis/event-store';
import {
  type Answer,
  answer,
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
import { assertNoMore, type DirectoryQuery } from '@pis/read-models';
import { AsOf } from './as-of.js';
import { DIRECTORY_QUERY } from './tokens.js';

@Controller()
export class OriginatorsController {
  constructor(
    @Inject(OriginatorDirectory) private readonly directory: OriginatorDirectory,
    @Inject(DirectoryLists) private readonly lists: DirectoryLists,
    @Inject(DIRECTORY_QUERY) private readonly query: DirectoryQuery,
    @Inject(AsOf) private readonly asOf: AsOf,
  ) {}

  @Operation(listOriginators)
  list(
    @Caller() { organizationId }: Caller,
    @GivenQuery() query: Given<OriginatorReadQuery>,
  ): Promise<Answer<readonly OriginatorListItem[]>> {
    return this.lists.page('originators', organizationId, query, (asked, page) => {
      const { limit: _limit, cursor: _cursor, asOf, ...others } = asked;
      assertNoMore(others);
      return asOf === undefined
        ? this.query.originators(organizationId, page)
        : this.asOf.originators(organizationId, asOf, page);
    });
  }

  @Operation(updateOriginator)
  async update(
    @Caller() { organizationId }: Caller,
    @Context() context: CommandContext,
    @Id('originatorId') originatorId: string,
    @UncheckedBody() body: unknown,
  ): Promise<Answer<OriginatorView>> {
    const updated = await this.directory.update(organizationId, originatorId, body, context);
    return answer(originatorView(granted(updated)));
  }
}
