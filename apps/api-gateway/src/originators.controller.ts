import { Controller, Get, Inject, Patch, Req } from '@nestjs/common';
import {
  originatorListSchema,
  originatorPatchSchema,
  originatorView,
  type OriginatorView,
  validatePatch,
} from '@pis/contracts';
import { isRefusal, originator as originators, type OriginatorChanges } from '@pis/domain';
import { type EventStore, repository, StreamStates, againOnConflict } from '@pis/event-store';
import {
  accepted,
  answer,
  type Answer,
  bodyOf,
  callerOf,
  contextOf,
  idIn,
  notFound,
  now,
  OwnWrites,
} from '@pis/http-api';
import { ownerOf } from '@pis/keyring';
import { type DirectoryQuery } from '@pis/read-models';
import { EVENT_STORE } from '@pis/service-kit';
import type { FastifyRequest } from 'fastify';
import { DirectoryLists } from './directory-lists.js';
import { PartyAccounts } from './party-changes.js';
import { DIRECTORY_QUERY } from './tokens.js';

@Controller('v1/originators')
export class OriginatorsController {
  private readonly originators;

  constructor(
    @Inject(EVENT_STORE) private readonly store: EventStore,
    @Inject(DIRECTORY_QUERY) private readonly query: DirectoryQuery,
    @Inject(DirectoryLists) private readonly lists: DirectoryLists,
    @Inject(PartyAccounts) private readonly accounts: PartyAccounts,
    @Inject(OwnWrites) private readonly ownWrites: OwnWrites,
    @Inject(StreamStates) states: StreamStates,
  ) {
    this.originators = repository(store, originators, { states });
  }

  @Get()
  list(@Req() request: FastifyRequest): Promise<Answer<readonly OriginatorView[]>> {
    const { organizationId } = callerOf(request);
    return this.lists.page('originators', request, originatorListSchema, (_query, page) =>
      this.query.originators(organizationId, page),
    );
  }

  @Patch(':id')
  async update(@Req() request: FastifyRequest): Promise<Answer<OriginatorView>> {
    const { organizationId } = callerOf(request);
    const originatorId = idIn(request, 'originatorId');
    const context = contextOf(request);
    return againOnConflict(this.store, this.originators.streamIdOf(originatorId), async () => {
      const loaded = await this.originators.load(originatorId, organizationId);
      const current = loaded.state?.organizationId === organizationId ? loaded.state : null;
      const patch = accepted(
        validatePatch(originatorPatchSchema, bodyOf(request), current?.entityType ?? null),
      );
      if (current === null) throw notFound('originator');

      const changes = this.accounts.changes(current, ownerOf.originator(originatorId), patch);
      const { bankAccount, ...others } = changes;
      const data: { changes: OriginatorChanges } = {
        changes: { ...others, ...(bankAccount ? { bankAccount } : {}) },
      };
      const decision = originators.decide({ type: 'UpdateOriginator', at: now(), data }, current);
      if (isRefusal(decision)) throw new Error(`a loaded originator refused: ${decision.refused}`);
      if (decision.length === 0) {
        // What was asked for may be what an earlier request did whose answer was lost.
        this.ownWrites.note('directory', organizationId, loaded.lastEvent?.position ?? null);
        return answer(originatorView(current));
      }

      // At the revision that was compared with: an account that equals one replaced meanwhile is a change.
      const updated = await this.originators.append(originatorId, loaded, decision, context);
      if (updated.state === null) throw new Error('an updated originator is not there');
      this.ownWrites.note('directory', organizationId, updated.position);
      return answer(originatorView(updated.state));
    });
  }
}
