/**
 * Namespace and positions: how our streams and positions are written in EventStoreDB, for every adapter.
 *
 * EventStoreDB has no databases. A namespace separates the systems that share a cluster: the stream
 * `payment-1` is called `pis.payment-1` there. Only adapters add and remove it.
 */
import { type Position, beginning } from '../port.js';

export const namespaceDefault = 'pis';
/** A dot ends the namespace, so that no namespace is the beginning of another. */
export const namespaceForm = /^[A-Za-z0-9_-]{1,64}$/;

export class Namespace {
  /** Of every stream of ours. */
  readonly prefix: string;

  /** @throws TypeError */
  constructor(name: string) {
    if (!namespaceForm.test(name))
      throw new TypeError(`${JSON.stringify(name)} is not a namespace: 1 to 64 of A-Z a-z 0-9 _ -`);
    this.prefix = `${name}.`;
  }

  add(streamId: string): string {
    return this.prefix + streamId;
  }

  /** Null for a stream that is not ours. */
  remove(name: string): string | null {
    return name.startsWith(this.prefix) ? name.slice(this.prefix.length) : null;
  }

  /** The prefixes for the server's filter: all our streams, or those whose ID begins with one of these. */
  prefixes(streamPrefixes: readonly string[] | undefined): string[] {
    return (streamPrefixes ?? ['']).map((prefix) => this.add(prefix));
  }
}

/** A position in EventStoreDB's log. */
export interface LogPlace {
  readonly commit: bigint;
  readonly prepare: bigint;
}

const digits = 20;
const positionForm = /^\d{40}$/;

/** Commit and prepare position, each in 20 digits: the order of the text is the order of the log. */
export function positionOf(place: {
  readonly commit: bigint | string;
  readonly prepare: bigint | string;
}): Position {
  return String(place.commit).padStart(digits, '0') + String(place.prepare).padStart(digits, '0');
}

/** Null for the beginning. @throws TypeError */
export function placeOf(position: Position): LogPlace | null {
  if (position === beginning) return null;
  if (!positionForm.test(position))
    throw new TypeError(`${JSON.stringify(position)} is not a position`);
  return { commit: BigInt(position.slice(0, digits)), prepare: BigInt(position.slice(digits)) };
}
