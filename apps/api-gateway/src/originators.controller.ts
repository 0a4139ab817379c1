import { Controller, Inject } from '@nestjs/common';
import { OriginatorDirectory } from '@pis/commands';
import {
  listOriginators,
  type OriginatorListQuery,
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
import { DIRECTORY_QUERY } from './tokens.js';

@Controller()
export class OriginatorsController {
  constructor(
    @Inject(OriginatorDirectory) private readonly directory: OriginatorDirectory,
    @Inject(DirectoryLists) private readonly lists: DirectoryLists,
    @Inject(DIRECTORY_QUERY) private readonly query: DirectoryQuery,
  ) {}

  @Operation(listOriginators)
  list(
    @Caller() { organizationId }: Caller,
    @GivenQuery() query: Given<OriginatorListQuery>,
  ): Promise<Answer<readonly OriginatorView[]>> {
    return this.lists.page('originators', organizationId, query, (asked, page) => {
      const { limit: _limit, cursor: _cursor, ...others } = asked;
      assertNoMore(others);
      return this.query.originators(organizationId, page);
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
