/**
 * The clients of the bench: organizations whose webhook endpoints the api-gateway registered, and
 * their payments, which go straight into the event store, as the gateway's own do: what is measured
 * begins there.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { createApiKey, createOrganization, createOriginator, unrefused } from '@pis/commands';
import { originator as originators, payment as payments } from '@pis/domain';
import { postgresEventStore, repository, sealedStore } from '@pis/event-store';
import { sandboxDirectory } from '@pis/bank-rails';
import { createKeyring, MasterKeys, pgDataKeyTable } from '@pis/keyring';
import { pgConsumerState } from '@pis/messaging';
import pg from 'pg';
import { machineMs } from '../machine-clock.mjs';
import { call } from '../requests.mjs';

const connections = 10;
const relayLimitMs = 60_000;
const by = {
  actor: 'system:bench',
  requestId: null,
  correlationId: randomUUID(),
  causationId: null,
  traceparent: null,
};
const originatorInput = {
  entityType: 'BUSINESS',
  companyName: 'Bench Trading and Supplies LLC',
  email: 'treasury@bench.example',
  bankAccount: {
    subType: 'CHECKING',
    achRoutingNumber: '021000021',
    achAccountNumber: '000123456789',
  },
};

export function openClients({ DATABASE_URL: databaseUrl, PIS_MASTER_KEY: masterKey }) {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: connections });
  const masterKeys = new MasterKeys([Buffer.from(masterKey, 'base64')]);
  const keyring = createKeyring({ masterKeys, table: pgDataKeyTable(pool) });
  const store = sealedStore(postgresEventStore({ pool }), keyring);
  const repositories = {
    originators: repository(store, originators),
    payments: repository(store, payments),
  };

  /** An organization subscribed to all payment events at each of the urls. */
  async function create(gatewayUrl, urls) {
    const context = { store, by };
    const { organizationId } = unrefused(await createOrganization(context, { name: 'Bench' }));
    const { originatorId } = unrefused(
      await createOriginator(context, {
        organizationId,
        input: originatorInput,
        keyring,
        banks: sandboxDirectory,
      }),
    );
    const { apiKey } = unrefused(
      await createApiKey(context, {
        organizationId,
        type: 'full_access',
        environment: 'sandbox',
        apiKey: `pis_test_${randomBytes(32).toString('base64url')}`,
      }),
    );
    const { state } = await repositories.originators.load(originatorId);
    const client = { organizationId, gatewayUrl, apiKey, party: partyOf(originatorId, state) };
    for (const url of urls) await subscribe(client, url);
    return client;
  }

  /** Appends a payment: one event. @returns its id */
  async function pay({ organizationId, party }) {
    const paymentId = randomUUID();
    const data = {
      paymentId,
      organizationId,
      originatorId: party.id,
      contactId: party.id,
      amountMinor: 12_345,
      discountFeeMinor: 0,
      flatFeeMinor: 0,
      returnFeeMinor: 0,
      currencyCode: 'USD',
      paymentRail: 'ACH',
      direction: 'OUTBOUND',
      paymentNote: 'Invoice 42 of the bench, with the order and the project it belongs to. '.repeat(
        2,
      ),
      externalPaymentId: `bench-${paymentId}`,
      idempotencyKey: paymentId,
      originator: party,
      contact: party,
    };
    const nothing = repositories.payments.fold([]);
    const command = { type: 'QueuePayment', at: new Date().toISOString(), data };
    const events = payments.decide(command, nothing.state);
    await repositories.payments.append(paymentId, nothing, events, by);
    return paymentId;
  }

  return {
    create,
    pay,
    /** `count` payments of each of the clients in turn, many at a time. */
    async payMany(clients, count) {
      const together = 256;
      for (let first = 0; first < count; first += together) {
        const size = Math.min(together, count - first);
        await Promise.all(
          Array.from({ length: size }, (_, n) => pay(clients[(first + n) % clients.length])),
        );
      }
    },
    /** Open loop: a payment every 1/perSecond, whatever the others do. @returns by its id when each was begun and when it was appended */
    async payAtPace(client, { perSecond, seconds }) {
      const begun = [];
      const startedAt = machineMs();
      for (let n = 0; n < perSecond * seconds; n += 1) {
        await delay(Math.max(0, startedAt + (n * 1000) / perSecond - machineMs()));
        const atMs = machineMs();
        begun.push(
          pay(client).then((paymentId) => [paymentId, { atMs, appendedAtMs: machineMs() }]),
        );
      }
      return new Map(await Promise.all(begun));
    },
    /** Until the relay has published all there is. */
    async relayed() {
      const state = pgConsumerState(pool);
      const last = await store.lastPosition();
      const deadline = machineMs() + relayLimitMs;
      while ((await state.loadCheckpoint('event-relay')) < last) {
        if (machineMs() > deadline) throw new Error('the relay has not published the backlog');
        await delay(20);
      }
    },
    async close() {
      await store.close();
      await pool.end();
    },
  };
}

export async function subscribe({ gatewayUrl, apiKey }, url) {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  await call(gatewayUrl, headers, 'POST', '/v1/webhooks', { url, subscribedEvents: ['payment.*'] });
}

function partyOf(id, { entityType, firstName, lastName, companyName, bankAccount }) {
  return { id, entityType, firstName, lastName, companyName, bankAccount };
}
