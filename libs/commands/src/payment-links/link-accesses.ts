/** Who opened a link, submitted it, and was shown it. Visitors are sealed under the counterparty's key. */
import { randomUUID } from 'node:crypto';
import { KeyDestroyed, type Keyring, ownerOf } from '@pis/keyring';
import type { LinkAccessKind, LinkAccessLog, NewLinkAccess } from './link-ports.js';
import { RepeatedOpens } from './repeated-opens.js';
import { VisitRows } from './visit-rows.js';

export interface Visitor {
  readonly ip: string;
  readonly userAgent: string | null;
}

/** A visitor, and the network that the address belongs to: visits from one network count together. */
export interface NetworkVisitor extends Visitor {
  readonly network: string;
}

export interface ShownAccess {
  readonly kind: LinkAccessKind;
  /** The first time. ISO 8601. */
  readonly at: string;
  /** The last time. ISO 8601. */
  readonly lastAt: string;
  /** How often. */
  readonly count: number;
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

/** Why a submission was refused before it was made. FOREIGN_FORM: the page of the link did not send it. */
export type RefusedVisit =
  | 'LINK_EXPIRED'
  | 'ALREADY_SUBMITTED'
  | 'INVALID_REQUEST'
  | 'FOREIGN_FORM';

/** Longer ones are cut. */
const userAgentLengthMax = 512;
/** Of each kind. */
const listMax = 200;

export class LinkAccesses {
  private readonly rows = new VisitRows();
  private readonly repeats: RepeatedOpens;

  /** @param onUncounted repeated opens were not counted yet, and will be tried again */
  constructor(
    private readonly log: LinkAccessLog,
    private readonly keyring: Keyring,
    onUncounted: (error: unknown) => void,
  ) {
    this.repeats = new RepeatedOpens(log, onUncounted);
  }

  /** The first open of a row is durable when it resolves. A repeated one is counted within a second. */
  async opened(
    visit: Visit & { readonly isExpired: boolean },
    visitor: NetworkVisitor,
    at: string,
  ): Promise<void> {
    const access = { kind: 'open', outcome: null } as const;
    const accessId = this.rows.idOf({ ...visit, ...access }, visitor, at);
    if (this.repeats.count(accessId, at)) return;
    this.repeats.add(await this.visited({ ...access, accessId, at }, visit, visitor));
  }

  /** Writes what was counted. Later opens are recorded at once. @throws StoreUnavailable */
  close(): Promise<void> {
    return this.repeats.close();
  }

  /** A submission that is not made. */
  async refused(
    visit: Visit & { readonly isExpired: boolean },
    visitor: NetworkVisitor,
    outcome: RefusedVisit,
    at: string,
  ): Promise<void> {
    const access = { kind: 'submit', outcome } as const;
    const accessId = this.rows.idOf({ ...visit, ...access }, visitor, at);
    await this.visited({ ...access, accessId, at }, visit, visitor);
  }

  /** @returns the ID of the access, for its outcome */
  async submitting(visit: Visit, visitor: Visitor, at: string): Promise<string> {
    const accessId = randomUUID();
    await this.visited({ kind: 'submit', outcome: null, accessId, at }, visit, visitor);
    return accessId;
  }

  ended(accessId: string, outcome: string): Promise<void> {
    return this.log.setOutcome(accessId, outcome);
  }

  async shown({
    userId,
    ...of
  }: Pick<NewLinkAccess, 'paymentId' | 'organizationId' | 'at'> & {
    readonly userId: string;
  }): Promise<void> {
    const accessId = randomUUID();
    const actor = `user:${userId}`;
    await this.log.record({ accessId, ...of, kind: 'show', actor, outcome: null, sealed: null });
  }

  async list(paymentId: string, counterpartyId: string): Promise<readonly ShownAccess[]> {
    await this.repeats.flush();
    const listed = await this.log.list(paymentId, listMax);
    const owner = ownerOf.contact(counterpartyId);
    const texts = listed.flatMap(({ sealed, accessId }) =>
      sealed === null ? [] : [{ sealed, owner, place: placeOf(accessId) }],
    );
    const opened = (await this.keyring.openAll(texts)).values();
    return listed.map(({ kind, at, lastAt, count, actor, outcome, sealed }) => {
      const text = sealed === null ? null : (opened.next().value ?? null);
      const visitor = text === null ? null : (JSON.parse(text) as Visitor);
      return { kind, at, lastAt, count, actor, outcome, visitor };
    });
  }

  private async visited(
    access: Pick<NewLinkAccess, 'accessId' | 'kind' | 'outcome' | 'at'>,
    { paymentId, organizationId, counterpartyId }: Visit,
    visitor: Visitor,
  ): Promise<NewLinkAccess> {
    const sealed = await this.sealed(counterpartyId, access.accessId, visitor);
    const recorded = { ...access, paymentId, organizationId, actor: null, sealed };
    await this.log.record(recorded);
    return recorded;
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
