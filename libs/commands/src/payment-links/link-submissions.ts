/** The counterparty's answer: its bank account, for this payment alone. No saved contact changes. */
import type { RoutingDirectory } from '@pis/bank-rails';
import { type LinkSubmission, linkSubmissionSchema, problem, validate } from '@pis/contracts';
import {
  organization as organizations,
  type Payment,
  payment as payments,
  type PaymentCommand,
  type Refusal,
  transferAmountMinor,
} from '@pis/domain';
import {
  againOnConflict,
  type CommandContext,
  type EventStore,
  type Loaded,
  type Position,
  repository,
} from '@pis/event-store';
import { type Keyring, ownerOf, sealBankAccount } from '@pis/keyring';
import { RailChoice } from '../payment-draft.js';
import { type InvalidRequest, invalidRequest } from '../use-case.js';
import type { LinkRequestsOptions } from './link-requests.js';
import { type LinkedPayment, stateAt } from './link-view.js';

export type SubmissionRefusal =
  | Refusal<'LINK_NOT_FOUND' | 'LINK_EXPIRED' | 'ALREADY_SUBMITTED'>
  | InvalidRequest;

/** The request that brought the submission. */
export type SubmissionCause = Pick<CommandContext, 'requestId' | 'traceparent'>;

type LoadedLink = Loaded<Payment | null> & { readonly state: LinkedPayment };

export class LinkSubmissions {
  private readonly store: EventStore;
  private readonly keyring: Keyring;
  private readonly banks: RoutingDirectory;
  private readonly railChoice: RailChoice;
  private readonly payments;
  private readonly organizations;

  constructor(options: LinkRequestsOptions) {
    const { store, states, keyring, banks } = options;
    this.store = store;
    this.keyring = keyring;
    this.banks = banks;
    this.railChoice = new RailChoice(options);
    this.payments = repository(store, payments);
    this.organizations = repository(store, organizations, { states });
  }

  /** @throws StoreUnavailable, KeyDestroyed when the counterparty was erased */
  async submit(
    found: LoadedLink,
    submission: unknown,
    cause: SubmissionCause & { readonly ip: string },
    clock: () => string,
  ): Promise<
    { readonly status: 'QUEUED'; readonly position: Position | null } | SubmissionRefusal
  > {
    const { paymentId } = found.state;
    const streamId = this.payments.streamIdOf(paymentId);
    return againOnConflict(this.store, streamId, async (tries) => {
      const loaded = tries === 1 ? found : await this.payments.load(paymentId);
      const { state } = loaded;
      if (state === null || state.link === null || state.status === 'CANCELED')
        return { refused: 'LINK_NOT_FOUND' } as const;
      const at = clock();
      const linked = { ...state, link: state.link };
      const usable = stateAt(linked, at);
      if (usable === 'expired') return { refused: 'LINK_EXPIRED' } as const;
      if (usable === 'submitted') return { refused: 'ALREADY_SUBMITTED' } as const;
      const command = await this.commandOf(linked, submission, at);
      if ('refused' in command) return command;
      const { counterpartyId } = linked.link;
      const owner = `contact:${counterpartyId}` as const;
      const caller = { owner, address: cause.ip };
      const context = { ...contextOf(loaded, paymentId, cause), caller };
      const queued = await this.payments.record(paymentId, loaded, [command], context);
      // Everything else that the domain refuses was checked above.
      if ('refused' in queued) return { refused: 'LINK_NOT_FOUND' } as const;
      return { status: 'QUEUED', position: queued.position } as const;
    });
  }

  private async commandOf(
    payment: LinkedPayment,
    submission: unknown,
    at: string,
  ): Promise<PaymentCommand | InvalidRequest> {
    const valid = validate<LinkSubmission>(linkSubmissionSchema, submission);
    if (!valid.ok) return invalidRequest(valid.problems);
    const { subType, achRoutingNumber, achAccountNumber, legalAddress } = valid.value;
    const bank = await this.banks.find(achRoutingNumber);
    if (bank === null)
      return invalidRequest([
        problem('achRoutingNumber', 'validation_routing_number', unknownBank),
      ]);
    const numbers = { subType, achRoutingNumber, achAccountNumber, swiftCode: null };
    const owner = ownerOf.contact(payment.link.counterpartyId);
    const bankAccount = await sealBankAccount(this.keyring, owner, numbers, bank.bankName);
    const { state: organization } = await this.organizations.load(payment.organizationId);
    if (organization === null) throw new Error('the organization of a payment has no stream');
    const { direction } = payment;
    const amountMinor = transferAmountMinor(payment);
    const codes = direction === 'INBOUND' ? null : { achRoutingNumber, swiftCode: null };
    const { paymentRail, decision: railDecision } = await this.railChoice.select(
      { direction, amountMinor, at, codes, hasContactAddress: true },
      organization,
    );
    const data = { bankAccount, legalAddress, paymentRail, railDecision };
    return { type: 'SubmitCounterparty', at, data };
  }
}

const unknownBank = 'is not the routing number of a known bank';

/** The counterparty has no account: its link is who it is. The correlation is that of the payment's creation. */
function contextOf(
  { lastEvent }: Loaded<unknown>,
  paymentId: string,
  cause: SubmissionCause,
): CommandContext {
  return {
    actor: `link:${paymentId}`,
    requestId: cause.requestId,
    correlationId: lastEvent?.metadata.correlationId ?? paymentId,
    causationId: lastEvent?.id ?? null,
    traceparent: cause.traceparent,
  };
}
