/** For the specs of erasure: an organization on a store in memory, and what the lists would say. */
import { randomUUID } from 'node:crypto';
import {
  type ContactCreateRequest,
  contactCreateSchema,
  type PaymentCreateRequest,
  validate,
} from '@pis/contracts';
import {
  collection as collections,
  collectionDetails,
  contact as contacts,
  finalStatuses,
  type Payment,
  payment as payments,
  type PaymentCommand,
  streamPrefixOf,
  type TransferOwner,
  transferOwners,
} from '@pis/domain';
import { bankAccountExample, originatorParty } from '@pis/domain/testing';
import {
  beginning,
  type EventStore,
  memoryEventStore,
  repository,
  sealedStore,
  StreamStates,
  systemContext,
} from '@pis/event-store';
import type { Owner } from '@pis/keyring';
import { testKeyring } from '@pis/keyring/testing';
import { defaultCutoffs, sandboxDirectory as banks } from '@pis/bank-rails';
import { paymentRails } from '@pis/domain';
import { ContactDirectory } from '../contact-directory.js';
import { OriginatorDirectory } from '../originator-directory.js';
import { type ErasureOrder, PartyErasure, type TransfersOfParties } from '../party-erasure.js';
import type { ErasableParty } from '../party-stream.js';
import { PaymentCreation } from '../payment-creation.js';
import { createOrganization, createOriginator } from '../provisioning.js';
import { unrefused } from '../use-case.js';

const rails = { connectedRails: paymentRails, cutoffs: defaultCutoffs };
export const by = systemContext('test');
const ownWrites = { note: () => undefined };
const bankAccount = {
  subType: 'CHECKING',
  achRoutingNumber: '021000021',
  achAccountNumber: '000123456789',
} as const;
const ada = { entityType: 'INDIVIDUAL', firstName: 'Ada', lastName: 'Lovelace', bankAccount };
export const at = '2026-11-21T09:00:00.000Z';

export async function setUp() {
  const keyring = testKeyring();
  const store = sealedStore(memoryEventStore(), keyring);
  const destroyed = new Set<Owner>();
  /** What executors are told, in order. */
  const notices: ErasableParty[] = [];
  const { organizationId } = unrefused(await createOrganization({ store, by }, { name: 'Acme' }));
  const newOriginator = async (input: object) => {
    const options = { organizationId, input: { ...input, bankAccount }, keyring, banks };
    return unrefused(await createOriginator({ store, by }, options)).originatorId;
  };
  const originatorId = await newOriginator({
    entityType: 'BUSINESS',
    companyName: 'Acme',
    email: 'a@b.example',
  });
  const processOn = (on: EventStore) => {
    const options = { store: on, keyring, banks, rails, ownWrites, states: new StreamStates() };
    const directory = new ContactDirectory(options);
    const creation = new PaymentCreation(options);
    return {
      directory,
      originatorDirectory: new OriginatorDirectory(options),
      create: (changes: object = {}) => {
        const body = { originatorId, email: 'ada@example.com', ...ada, ...changes };
        const valid = validate<ContactCreateRequest>(contactCreateSchema, body);
        if (!valid.ok) throw new Error(JSON.stringify(valid.problems));
        return directory.create(organizationId, valid.value, by);
      },
      pay: (
        contactId: string,
        from = originatorId,
        { key = randomUUID() as string, ...changes }: PaymentChanges = {},
      ) => {
        const request = { ...paymentRequest, originatorId: from, contactId, ...changes };
        return creation.create(organizationId, key, request, by);
      },
    };
  };
  const options = { store, keyring, banks, ownWrites, states: new StreamStates() };
  const here = processOn(store);
  const newContact = async (changes: object = {}) =>
    unrefused(await here.create(changes)).contactId;
  /** A payment that has gone through these commands. */
  const newPayment = async (contactId: string, ...commands: readonly PaymentCommand[]) => {
    const { paymentId } = unrefused(await here.pay(contactId));
    for (const command of commands)
      unrefused(await repository(store, payments).execute(paymentId, command, by));
    return paymentId;
  };
  /** A collection of fees from an originator, in the queue. */
  const newCollection = async (from: string) => {
    const collectionId = randomUUID();
    const data = collectionDetails({
      ...{ collectionId, organizationId, amountMinor: 362, note: 'Fees 2026-10' },
      settlement: { name: 'Operator', bankAccount: bankAccountExample() },
      originator: { ...originatorParty, id: from },
    });
    const command = { type: 'QueuePayment', at, data } as const;
    unrefused(await repository(store, collections).create(collectionId, command, by));
    return collectionId;
  };
  const destroyKeys = async (owners: readonly Owner[]) => {
    for (const owner of owners) destroyed.add(owner);
    await keyring.destroy(owners);
  };
  const erasureOn = (deps: Partial<Deps> = {}) =>
    new PartyErasure({
      store,
      transfers: transfersIn(store),
      notify: async (party) => void notices.push(party),
      destroyKeys,
      defaultRetentionYears: 7,
      settleMs: 1_000,
      keysInUseMs: 6_000,
      listWaitMaxMs: 0,
      pause: () => Promise.resolve(),
      ...deps,
    });
  const contactState = async (id: string) => (await repository(store, contacts).load(id)).state;
  const all = {
    store,
    keyring,
    /** Of use cases in a process of their own. */
    options,
    destroyed,
    notices,
    destroyKeys,
    organizationId,
    originatorId,
    here,
    processOn,
  };
  const made = { newOriginator, newContact, newPayment, newCollection };
  return { ...all, ...made, erasureOn, contactState };
}

type PaymentChanges = Partial<PaymentCreateRequest> & { readonly key?: string };

export type Deps = ConstructorParameters<typeof PartyErasure>[0];

const paymentRequest = {
  paymentAmount: 1_000,
  direction: 'OUTBOUND',
  paymentNote: null,
  externalPaymentId: null,
} as const satisfies Partial<PaymentCreateRequest>;

export const completed: readonly PaymentCommand[] = [
  { type: 'ProcessPayment', at, data: { railReference: 'r' } },
  { type: 'CompletePayment', at, data: {} },
];
export const order = (id: string, changes: Partial<ErasureOrder> = {}): ErasureOrder => ({
  kind: 'contact',
  id,
  reason: 'asked by letter',
  by: 'user:cli:ada',
  overridesRetention: false,
  ...changes,
});
export const overriding = (id: string) => order(id, { overridesRetention: true });

function idsIn({ contactId, originatorId, link }: Payment): readonly (string | null)[] {
  return [contactId, originatorId, link?.counterpartyId ?? null];
}

const aggregates = { payment: payments, collection: collections } as const;

/** What the lists would say when they have everything. */
export function transfersIn(store: EventStore): TransfersOfParties {
  const owned = async ({ id }: ErasableParty, owner: TransferOwner): Promise<Payment[]> => {
    const prefix = streamPrefixOf(owner);
    const { events } = await store.readLog({ after: beginning, streamPrefixes: [prefix] });
    const ids = new Set(events.map(({ streamId }) => streamId.slice(prefix.length)));
    const transfers = repository(store, aggregates[owner]);
    const loads = [...ids].map((transferId) => transfers.load(transferId));
    return (await Promise.all(loads)).flatMap(({ state }) =>
      state !== null && idsIn(state).includes(id) ? [state] : [],
    );
  };
  return {
    haveReached: () => Promise.resolve(true),
    async open(party) {
      for (const transfer of transferOwners) {
        const all = await owned(party, transfer);
        const open = all.filter(({ status }) => !finalStatuses.includes(status));
        const [first] = open;
        if (first !== undefined)
          return { transfer, count: open.length, paymentId: first.paymentId };
      }
      return null;
    },
    async lastFinalAt(party) {
      const all = await Promise.all(transferOwners.map((owner) => owned(party, owner)));
      return (
        all
          .flat()
          .map(({ statusAt }) => statusAt)
          .toSorted()
          .at(-1) ?? null
      );
    },
  };
}
