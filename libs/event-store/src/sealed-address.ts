/**
 * The address of the caller in the metadata of an event. It is personal data in many cases (a payer, a user at home),
 * and nobody can tell from the address: every address is sealed. Whoever destroys the owner's key erases it, and
 * no event changes. It stays sealed in memory, too: only the audit opens it.
 */
import type { CallerAddress, SealedAddress } from './command-context.js';
import type { EventStore, RecordedEvent } from './port.js';

type Place = Pick<RecordedEvent, 'streamId' | 'revision'>;

/**
 * Undefined without an address, for a store that seals nothing, and for an owner who was erased meanwhile: what
 * the owner asked for is recorded all the same.
 * @throws StoreUnavailable
 */
export async function sealAddress(
  { sealing }: Pick<EventStore, 'sealing'>,
  caller: CallerAddress | undefined,
  event: Place,
): Promise<SealedAddress | undefined> {
  if (caller === undefined || sealing === null) return undefined;
  const { owner, address } = caller;
  try {
    return { owner, sealed: await sealing.seal(owner, JSON.stringify(address), placeOf(event)) };
  } catch (error) {
    if (error instanceof Error && error.name === 'KeyDestroyed') return undefined;
    throw error;
  }
}

/**
 * The addresses of events, in order: null where none was recorded, and where its owner was erased.
 * @throws StoreUnavailable; CannotOpen and MasterKeyMissing as `Sealing.openAll`
 */
export async function openAddresses(
  { sealing }: Pick<EventStore, 'sealing'>,
  events: readonly RecordedEvent[],
): Promise<readonly (CallerAddress | null)[]> {
  const texts = events.flatMap((event) => {
    const { address } = event.metadata;
    return address === undefined ? [] : [{ ...address, place: placeOf(event) }];
  });
  if (texts.length === 0 || sealing === null) return events.map(() => null);
  const opened = (await sealing.openAll(texts)).values();
  return events.map(({ metadata: { address } }) => {
    if (address === undefined) return null;
    const text: unknown = opened.next().value;
    return typeof text === 'string' ? { owner: address.owner, address: addressIn(text) } : null;
  });
}

/** A text of the event's data does not open as an address, nor the other way round. */
function placeOf({ streamId, revision }: Place): string {
  return `${streamId} ${revision} address`;
}

/** @throws Error */
function addressIn(text: string): string {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'string') throw new Error('a sealed address is no address');
  return value;
}
