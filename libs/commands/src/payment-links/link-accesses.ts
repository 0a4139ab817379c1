/** Who opened a link, submitted it, and was shown it. Visitors are sealed under the counterparty's key. */
import { randomUUID } from 'node:crypto';
import { KeyDestroyed, type Keyring, ownerOf } from '@pis/keyring';
import type { LinkAccess, LinkAccessKind, LinkAccessLog } from './link-ports.js';

export interface Visitor {
  readonly ip: string;
  readonly userAgent: string | null;
}

export interface ShownAccess {
  readonly kind: LinkAccessKind;
  /** ISO 8601. */
  readonly at: string;
  readonly actor: string | null;
  readonly outcome: string | null;
  /** Null for `show`, and once the counterparty was erased. */
  readonly visitor: Visitor | null;
}

interface Visit {
  readonly paymentId: string;
  readonly organizationId: string;
  readonly counterpartyId: string;
}

/** Longer ones are cut. */
const userAgentLengthMax = 512;
const listMax = 200;

export class LinkAccesses {
  constructor(
    private readonly log: LinkAccessLog,
    private readonly keyring: Keyring,
  ) {}

  async opened(visit: Visit, visitor: Visitor, at: string): Promise<void> {
    await this.visited('open', visit, visitor, at);
  }

  /** @returns the ID of the access, for its outcome */
  submitting(visit: Visit, visitor: Visitor, at: string): Promise<string> {
    return this.visited('submit', visit, visitor, at);
  }

  ended(accessId: string, outcome: string): Promise<void> {
    return this.log.setOutcome(accessId, outcome);
  }

  async shown({
    userId,
    ...of
  }: Pick<LinkAccess, 'paymentId' | 'organizationId' | 'at'> & {
    readonly userId: string;
  }): Promise<void> {
    const accessId = randomUUID();
    const actor = `user:${userId}`;
    await this.log.record({ accessId, ...of, kind: 'show', actor, outcome: null, sealed: null });
  }

  async list(paymentId: string, counterpartyId: string): Promise<readonly ShownAccess[]> {
    const listed = await this.log.list(paymentId, listMax);
    const owner = ownerOf.contact(counterpartyId);
    const texts = listed.flatMap(({ sealed, accessId }) =>
      sealed === null ? [] : [{ sealed, owner, place: placeOf(accessId) }],
    );
    const opened = (await this.keyring.openAll(texts)).values();
    return listed.map(({ kind, at, actor, outcome, sealed }) => {
      const text = sealed === null ? null : (opened.next().value ?? null);
      const visitor = text === null ? null : (JSON.parse(text) as Visitor);
      return { kind, at, actor, outcome, visitor };
    });
  }

  private async visited(
    kind: LinkAccessKind,
    { paymentId, organizationId, counterpartyId }: Visit,
    visitor: Visitor,
    at: string,
  ): Promise<string> {
    const accessId = randomUUID();
    const sealed = await this.sealed(counterpartyId, accessId, visitor);
    const outcome = null;
    const actor = null;
    await this.log.record({
      accessId,
      paymentId,
      organizationId,
      kind,
      at,
      actor,
      outcome,
      sealed,
    });
    return accessId;
  }

  /** Null for a counterparty that was erased. */
  private async sealed(
    counterpartyId: string,
    accessId: string,
    { ip, userAgent }: Visitor,
  ): Promise<string | null> {
    const text = JSON.stringify({ ip, userAgent: userAgent?.slice(0, userAgentLengthMax) ?? null });
    try {
      return await this.keyring.seal(ownerOf.contact(counterpartyId), text, placeOf(accessId));
    } catch (error) {
      if (error instanceof KeyDestroyed) return null;
      throw error;
    }
  }
}

function placeOf(accessId: string): string {
  return `payment-link-access ${accessId}`;
}
