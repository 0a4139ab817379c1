/** What an append stores of events: personal data and the address of the caller sealed, once, before hashes are chained. */
import type { DomainEvent } from '@pis/domain';
import type { CommandContext, SealedAddress } from './command-context.js';
import type { EventStore, ExpectedRevision, JsonObject } from './port.js';
import { sealAddress } from './sealed-address.js';
import { sealData } from './sealed-store.js';

/** A domain's event, and its data as it is stored if that differs. */
export interface Contents {
  readonly event: DomainEvent;
  readonly storedData: JsonObject | undefined;
  readonly address: SealedAddress | undefined;
}

/** In order, for the revisions after `after`. @throws StoreUnavailable, KeyDestroyed */
export function sealedContents(
  store: EventStore,
  streamId: string,
  after: ExpectedRevision,
  events: readonly DomainEvent[],
  context: CommandContext,
): Promise<Contents[]> {
  const first = after === 'noStream' ? 0 : after + 1;
  return Promise.all(
    events.map(async (event, index) => {
      const data = event.data as JsonObject;
      const place = { streamId, revision: first + index };
      const storedData = await sealData(store, { ...place, type: event.type, data });
      return {
        event,
        storedData: storedData === data ? undefined : storedData,
        address: await sealAddress(store, context.caller, place),
      };
    }),
  );
}
