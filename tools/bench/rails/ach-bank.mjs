/**
 * A load: payments to a bank and back through the connection over NACHA files, on PostgreSQL. All go out in one file,
 * are accepted by one acknowledgement, and come back in one return file. The bank is in memory, so the time is ours.
 */
import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { fileArchive } from '@pis/bank-rails/connections';
import { achBank, atOnceSchedule } from '@pis/bank-rails/ach';
import { railReferenceOf } from '@pis/bank-rails';
import { testKeyringOn } from '@pis/keyring/testing';
import pg from 'pg';
import { benchBank } from './bench-bank.mjs';

const organizationId = randomUUID();
const originatorId = randomUUID();
const connections = 10;
const submitters = 64;
const contacts = 1_000;
const pageMax = 500;
const roundsMax = 1_000;
const bytesPerMb = 1024 * 1024;

process.once('message', async (task) => {
  process.send(await run(task));
  process.disconnect();
});

async function run({ databaseUrl, payments }) {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: connections });
  const keyring = await testKeyringOn(pool);
  const desk = benchBank();
  const bank = achBank({
    name: 'bench',
    ...{ pool, keyring },
    transport: desk.transport,
    archive: fileArchive({ pool, keyring }),
    terms: { submissionInFlightMaxMs: 60_000, referenceMemoryMs: 90 * 24 * 3_600_000 },
    identity: identityFor(payments),
    schedule: atOnceSchedule(),
    log: { info: () => undefined, warn: console.error, error: console.error },
  });
  try {
    const steps = {};
    const step = async (name, work) => {
      const startMs = performance.now();
      await work();
      steps[name] = performance.now() - startMs;
    };
    await step('submitMs', () => submitAll(bank, payments));
    await step('sendMs', () => sendAll(bank));
    desk.accept();
    await step('acceptMs', () => readAll(bank, desk));
    await desk.returnAll('R01');
    await step('returnMs', () => readAll(bank, desk));
    const found = {};
    await step('feedMs', async () => Object.assign(found, await countFeed(bank)));
    if (found.confirmed !== payments || found.returned !== payments)
      throw new Error(`not every payment came back: ${JSON.stringify(found)}`);
    const fileMb = Math.max(...desk.uploads.map(({ bytes }) => bytes.length)) / bytesPerMb;
    return { payments, files: desk.uploads.length, fileMb, ...steps };
  } finally {
    await bank.close();
    await pool.end();
  }
}

function identityFor(entriesPerFileMax) {
  return {
    odfiRoutingNumber: '021000021',
    immediateOrigin: '1234567890',
    immediateOriginName: 'BENCH',
    immediateDestination: '021000021',
    immediateDestinationName: 'BENCH BANK',
    company: { name: 'BENCH', id: '1234567890' },
    companies: {},
    consumerDebits: 'WEB',
    buildLeadMinutes: 10,
    acknowledgementMinutes: 60,
    inquiries: false,
    limits: { entriesPerFileMax, amountPerFileMaxMinor: 999_999_999_999 },
  };
}

async function submitAll(bank, payments) {
  const contactIds = Array.from({ length: contacts }, () => randomUUID());
  let next = 0;
  const submitter = async () => {
    while (next < payments) {
      const contactId = contactIds[next % contacts];
      next += 1;
      const { outcome } = await bank.submit(instructionTo(contactId));
      if (outcome !== 'pending') throw new Error(`a submission was answered with ${outcome}`);
    }
  };
  await Promise.all(Array.from({ length: submitters }, submitter));
}

function instructionTo(contactId) {
  const paymentId = randomUUID();
  const account = (achAccountNumber) => ({
    achRoutingNumber: '021000021',
    achAccountNumber,
    swiftCode: null,
    subType: 'CHECKING',
  });
  return {
    reference: railReferenceOf(paymentId),
    paymentId,
    organizationId,
    rail: 'ACH',
    achService: null,
    direction: 'OUTBOUND',
    amountMinor: 12_345,
    currencyCode: 'USD',
    createdAt: '2026-11-24T15:00:00.000Z',
    note: 'Invoice 1042',
    originatorId,
    originatorEntityType: 'BUSINESS',
    originatorName: 'Acme Corp',
    originatorAddress: null,
    originatorAccount: account('987654321098'),
    contactId,
    contactEntityType: 'INDIVIDUAL',
    contactName: 'Ada Lovelace',
    contactAddress: null,
    contactAccount: account('123456781234'),
  };
}

async function sendAll(bank) {
  // One round builds a file, another one uploads it.
  for (let round = 0; round < 2; round += 1) await bank.rounds.outbound();
}

async function readAll(bank, desk) {
  for (let round = 0; round < roundsMax && desk.inbox.size > 0; round += 1)
    await bank.rounds.inbound();
}

async function countFeed(bank) {
  const counts = {};
  for (let after = ''; ; ) {
    const { notifications, cursor } = await bank.notifications({ after, max: pageMax });
    if (notifications.length === 0) return counts;
    for (const { type } of notifications) counts[type] = (counts[type] ?? 0) + 1;
    after = cursor;
  }
}
