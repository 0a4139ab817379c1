/**
 * Personal data: which fields of which event tell who somebody is, and whose they are.
 *
 * An event is stored with one sealed text in the place of the personal fields of each party. Whoever
 * destroys the party's key erases the party from every event, and no event changes. In memory events keep
 * their plain shape. The event store's repository seals, and its sealed store opens.
 *
 * What always holds: a new category, a new event of a category with personal data, and a new field of such
 * an event do not compile until they are classified here.
 */
import type { ApprovalEvent, ApprovalRequest } from './approval/approval.js';
import { type Category, streamNameOf } from './categories.js';
import type { ContactEvent, ContactRecord } from './contact/contact.js';
import type { DomainEvent } from './decider.js';
import type {
  OriginatorChanges,
  OriginatorEvent,
  OriginatorRecord,
} from './originator/originator.js';
import type { PartyChanges, PartyProfile, PaymentParty } from './party.js';
import type { PaymentDetails } from './payment/payment-details.js';
import type { PaymentEvent } from './payment/payment.js';
import type { PaymentBlock, ReviewFindings } from './payment/rail-facts.js';
import type { UserActionClient, UserActionEvent } from './user-action/user-action.js';
import type { UserEvent, UserRecord } from './user/user.js';

/** Whom personal data belongs to: the keyring's name of the same record. */
export type PersonalOwner = `contact:${string}` | `originator:${string}` | `user:${string}`;

/** `personal` fields are stored sealed; `open` fields are stored as they are. */
type Fields<Data> = { readonly [Field in keyof Required<Data>]: 'open' | 'personal' };

export interface PersonalObject<Data> {
  readonly owner: (object: Data, streamId: string) => PersonalOwner;
  readonly fields: Fields<Data>;
}

/** Where the personal fields of an event are: in its data itself, or in objects inside. */
export type EventPrivacy<Data> = {
  /** Schema versions up to this one were stored in plain text; 0 when absent. */
  readonly plainUntil?: number;
} & (
  | { readonly whole: PersonalObject<Data> }
  | {
      readonly parts: {
        readonly [Field in keyof Required<Data>]:
          | 'open'
          | PersonalObject<NonNullable<Required<Data>[Field]>>;
      };
    }
);

/** What each event type of a category says about its data. */
export type PrivacyOf<Event extends DomainEvent> = {
  readonly [Type in Event['type']]: EventPrivacy<Extract<Event, { readonly type: Type }>['data']>;
};

const changes = {
  firstName: 'personal',
  lastName: 'personal',
  companyName: 'personal',
  email: 'personal',
  phoneNumber: 'personal',
  legalAddress: 'personal',
  bankAccount: 'personal',
  erased: 'open',
} as const satisfies Fields<PartyChanges> & Fields<OriginatorChanges>;

const profile = { ...changes, entityType: 'open' } as const satisfies Fields<
  PartyProfile & PartyChanges
>;

const ofContact = (_data: unknown, streamId: string): PersonalOwner => `contact:${idIn(streamId)}`;
const ofOriginator = (_data: unknown, streamId: string): PersonalOwner =>
  `originator:${idIn(streamId)}`;

const contactRecord: PersonalObject<ContactRecord> = {
  owner: ofContact,
  fields: {
    ...profile,
    contactId: 'open',
    organizationId: 'open',
    originatorId: 'open',
    identity: 'open',
  },
};

const originatorRecord: PersonalObject<OriginatorRecord> = {
  owner: ofOriginator,
  fields: { ...profile, originatorId: 'open', organizationId: 'open' },
};

const partyFields: Fields<PaymentParty> = {
  id: 'open',
  entityType: 'open',
  firstName: 'personal',
  lastName: 'personal',
  companyName: 'personal',
  legalAddress: 'personal',
  bankAccount: 'personal',
  erased: 'open',
};

const findingsFields = {
  id: 'open',
  reasons: 'personal',
} as const satisfies Fields<ReviewFindings>;

const paymentDetails = {
  paymentId: 'open',
  organizationId: 'open',
  originatorId: 'open',
  contactId: 'open',
  amountMinor: 'open',
  discountFeeMinor: 'open',
  flatFeeMinor: 'open',
  returnFeeMinor: 'open',
  currencyCode: 'open',
  paymentRail: 'open',
  railDecision: 'open',
  direction: 'open',
  paymentNote: 'open',
  externalPaymentId: 'open',
  idempotencyKey: 'open',
  approval: 'open',
  reinitiates: 'open',
  originator: { owner: ({ id }: PaymentParty) => `originator:${checked(id)}`, fields: partyFields },
  contact: { owner: ({ id }: PaymentParty) => `contact:${checked(id)}`, fields: partyFields },
} as const satisfies Extract<EventPrivacy<PaymentDetails>, { parts: unknown }>['parts'];

/** Operators are asked to keep the reason free of personal data. */
const erasureRequest = {
  reason: 'open',
  by: 'open',
  overridesRetention: 'open',
  requestId: 'open',
} as const;
const erasedRecord = { organizationId: 'open', entityType: 'open' } as const;

const contactEvents: PrivacyOf<ContactEvent> = {
  ContactCreated: { whole: contactRecord, plainUntil: 1 },
  ContactUpdated: {
    parts: { changes: { owner: ofContact, fields: changes }, identity: 'open' },
    plainUntil: 1,
  },
  ContactIdentityForfeited: { parts: { identity: 'open' } },
  ContactCreationForfeited: { parts: { identity: 'open' } },
  // Sealed by the connection to the bank.
  ContactCorrectionReported: {
    parts: { paymentId: 'open', changeCode: 'open', corrected: 'open' },
  },
  ContactCorrectionDismissed: { parts: { paymentId: 'open', changeCode: 'open' } },
  ContactReturnReported: {
    parts: { paymentId: 'open', returnReasonCode: 'open', returnedAt: 'open' },
  },
  UnsavedContactNoted: {
    parts: { contactId: 'open', organizationId: 'open', originatorId: 'open', entityType: 'open' },
  },
  ContactErasureRequested: { parts: erasureRequest },
  ContactErasureWithdrawn: { parts: { cause: 'open' } },
  ContactErasureConfirmed: { parts: {} },
  ContactErased: { parts: erasedRecord },
};

const originatorEvents: PrivacyOf<OriginatorEvent> = {
  OriginatorCreated: { whole: originatorRecord, plainUntil: 1 },
  OriginatorUpdated: {
    parts: { changes: { owner: ofOriginator, fields: changes } },
    plainUntil: 1,
  },
  OriginatorErasureRequested: { parts: erasureRequest },
  OriginatorErasureWithdrawn: { parts: { cause: 'open' } },
  OriginatorErasureConfirmed: { parts: {} },
  OriginatorErased: { parts: erasedRecord },
};

const blockFindings = {
  rules: 'open',
  reasons: 'open',
  originator: {
    owner: ({ id }: ReviewFindings) => `originator:${checked(id)}`,
    fields: findingsFields,
  },
  contact: { owner: ({ id }: ReviewFindings) => `contact:${checked(id)}`, fields: findingsFields },
} as const satisfies Extract<EventPrivacy<PaymentBlock>, { parts: unknown }>['parts'];

const paymentEvents: PrivacyOf<PaymentEvent> = {
  PaymentAwaitingConfirmation: {
    parts: {
      ...paymentDetails,
      link: {
        owner: ({ counterpartyId }) => `contact:${checked(counterpartyId)}`,
        fields: {
          tokenDigest: 'open',
          // Sealed by the use case.
          sealedToken: 'open',
          holder: 'personal',
          counterpartyId: 'open',
          createdBy: 'open',
          expiresAt: 'open',
          erased: 'open',
        },
      },
    },
    plainUntil: 1,
  },
  PaymentQueued: { parts: paymentDetails, plainUntil: 1 },
  PaymentProcessing: { parts: { railReference: 'open', connection: 'open' } },
  PaymentCompleted: { parts: {} },
  PaymentFailed: { parts: { failureCode: 'open', failureMessage: 'open', failureReason: 'open' } },
  PaymentFailedInFlight: { parts: { failureReason: 'open' } },
  PaymentBlocked: { parts: blockFindings },
  PaymentReturned: {
    parts: { returnReasonCode: 'open', returnReference: 'open', returnedAmountMinor: 'open' },
  },
  PaymentCanceled: { parts: {} },
  // Sealed by the connection to the bank.
  PaymentCorrected: { parts: { changeCode: 'open', corrected: 'open' } },
  PaymentRejectedLate: {
    parts: {
      failureCode: 'open',
      field: 'open',
      message: 'open',
      reason: 'open',
      railCode: 'open',
    },
  },
  PaymentReturnedAgain: {
    parts: { returnReasonCode: 'open', returnReference: 'open', returnedAmountMinor: 'open' },
  },
};

/** The debited party of a collection is an originator; see collection.ts. */
const collectionEvents: PrivacyOf<PaymentEvent> = {
  ...paymentEvents,
  PaymentQueued: {
    parts: { ...paymentDetails, contact: paymentDetails.originator },
  },
  PaymentBlocked: {
    parts: { ...blockFindings, contact: blockFindings.originator },
  },
};

/** Users are asked to keep the reason free of personal data, and the note of a payment, too. */
const approvalEvents: PrivacyOf<ApprovalEvent> = {
  ApprovalRequested: {
    parts: {
      approvalId: 'open',
      organizationId: 'open',
      originatorId: 'open',
      direction: 'open',
      contactId: 'open',
      recipient: {
        owner: ({ id }: ApprovalRequest['recipient']) => `contact:${checked(id)}`,
        fields: partyFields,
      },
      originatorAccount: 'open',
      amountMinor: 'open',
      paymentNote: 'open',
      externalPaymentId: 'open',
      requestedBy: 'open',
    },
  },
  ApprovalGranted: { parts: { grantedBy: 'open' } },
  ApprovalRejected: { parts: { rejectedBy: 'open', reason: 'open' } },
  ApprovalWithdrawn: { parts: {} },
  ApprovalEnded: { parts: { cause: 'open' } },
  ApprovedPaymentCreated: { parts: {} },
  ApprovedPaymentRefused: { parts: { refused: 'open', problems: 'open' } },
};

const userRecord: PersonalObject<UserRecord> = {
  owner: (_data, streamId) => `user:${idIn(streamId)}`,
  fields: {
    userId: 'open',
    organizationId: 'open',
    email: 'personal',
    role: 'open',
    erased: 'open',
  },
};

const userEvents: PrivacyOf<UserEvent> = {
  UserCreated: { whole: userRecord },
  UserRoleChanged: { parts: { role: 'open' } },
  UserDisabled: { parts: {} },
  UserEnabled: { parts: {} },
  UserPasswordChanged: { parts: {} },
  UserTotpEnabled: { parts: {} },
  UserTotpDisabled: { parts: {} },
  UserErased: { parts: {} },
};

const userActionEvents: PrivacyOf<UserActionEvent> = {
  UserActionStarted: {
    parts: {
      actionId: 'open',
      organizationId: 'open',
      userId: 'open',
      action: 'open',
      subject: 'open',
      client: {
        owner: ({ userId }: UserActionClient) => `user:${checked(userId)}`,
        fields: { userId: 'open', address: 'personal', userAgent: 'personal', erased: 'open' },
      },
    },
  },
  UserActionSucceeded: { parts: {} },
  UserActionFailed: { parts: { error: 'open' } },
};

/** Categories that are `open` have no personal data. */
export const personalData = {
  approval: approvalEvents,
  collection: collectionEvents,
  contact: contactEvents,
  originator: originatorEvents,
  payment: paymentEvents,
  user: userEvents,
  userAction: userActionEvents,
  apiKey: 'open',
  contactIdentity: 'open',
  feePeriod: 'open',
  operatorAction: 'open',
  operatorNotice: 'open',
  organization: 'open',
  // The account number is sealed by the use case.
  settlement: 'open',
  // Counts and sums; the document is sealed in the store of documents.
  statement: 'open',
  store: 'open',
  webhookEndpoints: 'open',
} as const satisfies Record<Category, Readonly<Record<string, unknown>> | 'open'>;

function idIn(streamId: string): string {
  return checked(streamNameOf(streamId)?.id);
}

const idForm = /^[\w-]{1,100}$/;

/** The id of a party. A foreign event may hold anything in its place. @throws Error */
function checked(id: unknown): string {
  if (typeof id !== 'string' || !idForm.test(id)) throw new Error('a party has no usable id');
  return id;
}
