/** The life of a payment as documents: timeline, changes, HTML and PDF. */
import { payment, type PaymentDetails, type PaymentEvent } from '@pis/domain';
import { ids, paymentEvents, paymentExample, railDecisionExample } from '@pis/domain/testing';
import { type EventStore, memoryEventStore, repository, sealedStore } from '@pis/event-store';
import { MemorySealing } from '@pis/event-store/testing';
import { attachmentsOf, readPdf } from '@pis/statements/testing';
import { pdfOfReport } from '../evidence.js';
import {
  bundleText,
  htmlOfReport,
  type LifeSources,
  paymentDiff,
  paymentLife,
  type PaymentLife,
  type ProofBundle,
  reportOfLife,
  textOfDiff,
  textOfLife,
  textOfTimeline,
  timelineOf,
} from '../life.js';

const { queued, processing, completed } = paymentEvents;
const hostile = '<script>alert("x")</script>\u202e\r\u001b[2K\u009b31m\n2026-01-01  forged';
const by = { requestId: hostile, correlationId: 'c', causationId: null, traceparent: null };
const file = {
  ...{
    at: '2026-01-02T00:00:01.500Z',
    id: ids.contact,
    rail: 'ACH',
    way: 'out' as const,
    kind: 'entries',
  },
  ...{ name: hostile, sha256: 'ab'.repeat(32), sizeBytes: 940 },
};
const delivery = {
  ...{ at: '2026-01-03T00:00:01.000Z', deliveryId: ids.contact, webhookId: ids.originator },
  ...{ url: `https://receiver.example/${hostile}`, eventId: ids.contact, state: 'delivered' },
  ...{ eventType: 'payment.completed', attempts: 2, finishedAt: '2026-01-04T00:00:01.000Z' },
  ...{ lastStatusCode: 200, lastError: null },
};

let store: EventStore;
let sources: LifeSources;

beforeEach(async () => {
  store = sealedStore(memoryEventStore(), new MemorySealing());
  sources = {
    ...{ store, openAddresses: true },
    files: async () => [file],
    deliveries: async () => [delivery],
  };
  const payments = repository(store, payment);
  const data = paymentExample({ railDecision: railDecisionExample });
  const events = [
    { ...queued, at: '2026-01-01T00:00:00.000Z', data },
    { ...processing, at: '2026-01-02T00:00:00.000Z' },
    { ...completed, at: '2026-01-03T00:00:00.000Z' },
  ];
  for (const event of events)
    await payments.append(ids.payment, await payments.load(ids.payment), [event], {
      ...by,
      actor: `apiKey:${ids.originator}`,
      caller: { owner: `organization:${ids.organization}`, address: '203.0.113.77' },
    });
});

async function life(asOf: Date | null = null): Promise<PaymentLife> {
  const found = await paymentLife(sources, ids.payment, asOf);
  if (found === null) throw new Error('the payment is there');
  return found;
}

/** A second payment, with its life. */
async function otherPayment(details: Partial<PaymentDetails>, ...events: readonly PaymentEvent[]) {
  const paymentId = ids.otherContact;
  const data = { ...paymentExample({ idempotencyKey: null, ...details }), paymentId };
  const payments = repository(store, payment);
  const first = { ...queued, at: '2026-01-01T00:00:00.000Z', data };
  const context = { ...by, actor: `user:${ids.otherContact}` };
  await payments.append(paymentId, await payments.load(paymentId), [first, ...events], context);
  return { data, told: (await paymentLife(sources, paymentId, null)) ?? fail() };
}

it('tells events, files and deliveries, and as of a time only what was there', async () => {
  const text = textOfLife(await life());
  for (const told of [
    `key: ${ids.originator}`,
    'address: 203.0.113.77',
    'to the bank: ACH entries',
    'webhook payment.completed',
    'last status: 200',
  ])
    expect(text).toContain(told);
  const before = await life(new Date('2026-01-02T00:00:01.000Z'));
  expect([before.status, before.events.length, before.files, before.deliveries]).toEqual([
    'PROCESSING',
    2,
    [],
    [],
  ]);
  expect(await paymentLife(sources, ids.organization, null)).toBeNull();
});

it('tells how much was paid, in which direction, from whom to whom, and who approved it', async () => {
  const approval = { requestedBy: ids.contact, approvedBy: ids.otherContact };
  const { data, told } = await otherPayment({ approval });
  expect(told.events[0]).toMatchObject({
    ...{ amount: data.amountMinor, currencyCode: 'USD', direction: data.direction },
    ...{ originatorId: data.originatorId, contactId: data.contactId, approval },
    fees: {
      ...{ discountFee: data.discountFeeMinor, flatFee: data.flatFeeMinor },
      returnFee: data.returnFeeMinor,
    },
  });
  const text = textOfLife(told);
  for (const fact of [
    `amount, in cents: ${data.amountMinor} USD`,
    `fees, in cents: discount ${data.discountFeeMinor}, flat ${data.flatFeeMinor}, for a return ${data.returnFeeMinor}`,
    `direction: ${data.direction}`,
    `originator: ${data.originatorId}`,
    `contact: ${data.contactId}`,
    `requested by: user:${ids.contact}`,
    `approved by: user:${ids.otherContact}`,
  ])
    expect(text).toContain(`    ${fact}\n`);
});

it('tells why a payment failed', async () => {
  const data = { failureCode: 'INVALID_CONTACT_DATA', failureReason: 'no such account' } as const;
  const failed = { ...data, failureMessage: data.failureReason };
  const at = '2026-01-05T00:00:00.000Z';
  const { told } = await otherPayment({}, { type: 'PaymentFailed', at, data: failed });
  expect(told.events[1]).toMatchObject(data);
  expect(textOfLife(told)).toContain('    failure: INVALID_CONTACT_DATA: no such account\n');
});

it('tells the code of a return', async () => {
  const data = { returnReasonCode: 'R01' };
  const returned = { type: 'PaymentReturned', at: '2026-01-05T00:00:00.000Z', data } as const;
  const payments = repository(store, payment);
  const context = { ...by, actor: 'system:rail-executor' };
  await payments.append(ids.payment, await payments.load(ids.payment), [returned], context);
  const told = await life();
  expect(told.events.at(-1)).toMatchObject(data);
  expect(textOfLife(told)).toContain('    code of the return: R01\n');
});

it('tells how much came back where it is less than was sent', async () => {
  const payments = repository(store, payment);
  const told = { returnReasonCode: null, returnReference: 'RTR1', returnedAmountMinor: 123_500 };
  const returned = { type: 'PaymentReturned', at: '2026-01-05T00:00:00.000Z', data: told } as const;
  const context = { ...by, actor: 'system:rail-executor' };
  await payments.append(ids.payment, await payments.load(ids.payment), [returned], context);
  const whole = await life();
  expect(whole.events.at(-1)).toMatchObject({ returnReference: 'RTR1', returnedAmount: 123_500 });
  expect(textOfLife(whole)).toContain('less came back, in cents: 123500');
  expect(htmlOfReport(reportOfLife(whole))).toContain('RTR1');

  const data = { returnReasonCode: null, returnReference: 'RTR2', returnedAmountMinor: 1_000 };
  const more = { type: 'PaymentReturnedAgain', at: '2026-01-06T00:00:00.000Z', data } as const;
  await payments.append(ids.payment, await payments.load(ids.payment), [more], context);
  const later = await life();
  expect(later.status).toBe('RETURNED');
  expect(later.events.at(-1)).toMatchObject({ returnReference: 'RTR2', returnedAmount: 1_000 });
  expect(textOfLife(later)).toMatch(/RTR2[^]*\bcame back, in cents: 1000/);
});

it('has a timeline with the time between what happened', async () => {
  const timeline = timelineOf(await life());
  expect(timeline.entries.map(({ kind, sincePreviousMs }) => [kind, sincePreviousMs])).toEqual([
    ['event', 0],
    ['event', 86_400_000],
    ['file', 1_500],
    ['event', 86_398_500],
    ['delivery', 1_000],
    ['delivery', 86_400_000],
  ]);
  const lines = textOfTimeline(timeline).split('\n');
  expect(lines[0]).toBe(`payment ${ids.payment}: COMPLETED, 3 d 1 s`);
  expect(lines[2]).toBe(
    `2026-01-02T00:00:00.000Z          +1 d  PaymentProcessing  apiKey:${ids.originator}`,
  );
  expect(lines).toHaveLength(7);
});

it('tells what changed between two revisions or times, and no personal data', async () => {
  const diff = await paymentDiff(store, ids.payment, { revision: 0 }, { revision: 2 });
  expect(diff?.differences).toEqual([
    { field: 'status', from: 'QUEUED', to: 'COMPLETED' },
    { field: 'statusAt', from: '2026-01-01T00:00:00.000Z', to: '2026-01-03T00:00:00.000Z' },
    { field: 'completedAt', from: null, to: '2026-01-03T00:00:00.000Z' },
    { field: 'railReference', from: null, to: 'rail-1' },
    { field: 'claimedAt', from: null, to: '2026-01-02T00:00:00.000Z' },
    ...(diff?.differences.filter(({ field }) => field === 'connection') ?? []),
  ]);
  const times = [new Date('2025-01-01T00:00:00Z'), new Date('2026-01-01T12:00:00Z')] as const;
  const all = await paymentDiff(store, ids.payment, { at: times[0] }, { at: times[1] });
  expect(all?.from).toEqual({ revision: null, at: null });
  expect(textOfDiff(all ?? fail())).toContain('amountMinor: null → ');
  expect(all?.differences).toContainEqual({
    ...{ field: 'contact.sealed', from: null, to: '(personal data)' },
  });
  expect(JSON.stringify(all)).not.toMatch(/v3\.|Ada/);
  const none = await paymentDiff(store, ids.payment, { revision: 1 }, { revision: 1 });
  expect(textOfDiff(none ?? fail())).toContain('nothing differs');
});

describe('a payment that was returned by a process whose clock is behind', () => {
  const [behind, later] = [
    new Date('2026-01-02T12:00:00.000Z'),
    new Date('2026-01-03T00:00:00.000Z'),
  ];
  beforeEach(async () => {
    const payments = repository(store, payment);
    const data = { returnReasonCode: 'R01' };
    const returned = { type: 'PaymentReturned', at: behind.toISOString(), data } as const;
    const context = { ...by, actor: 'system:rail-executor' };
    await payments.append(ids.payment, await payments.load(ids.payment), [returned], context);
  });

  it('counts as completed and returned from the later time on, as for the API', async () => {
    const [early, whole] = [await life(behind), await life(later)];
    expect([early.status, early.events.length]).toEqual(['PROCESSING', 2]);
    expect([whole.status, whole.events.length]).toEqual(['RETURNED', 4]);
    const diff = await paymentDiff(store, ids.payment, { at: behind }, { at: later });
    expect([diff?.from.revision, diff?.to.revision]).toEqual([1, 3]);
  });

  it('keeps its events in the order of the log in the timeline', async () => {
    const { entries } = timelineOf(await life());
    expect(entries.filter(({ kind }) => kind === 'event').map(({ what }) => what)).toEqual([
      ...['PaymentQueued', 'PaymentProcessing', 'PaymentCompleted', 'PaymentReturned'],
    ]);
  });
});

it('shows control characters and changes of direction instead of obeying them', async () => {
  const told = await life();
  const texts = [textOfLife(told), textOfTimeline(timelineOf(told))];
  for (const text of texts) {
    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(text).not.toMatch(/^2026-01-01 {2}forged/m);
  }
  expect(texts[0]).toContain('\\u{202e}\\u{d}\\u{1b}[2K');
  const html = htmlOfReport(reportOfLife(told));
  expect(html.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});

it('is an HTML file that loads nothing, in which hostile text is text', async () => {
  const html = htmlOfReport(reportOfLife(await life()));
  expect(html).not.toContain('<script');
  expect(html).toContain('&#60;script&#62;alert(&#34;x&#34;)&#60;/script&#62;');
  expect(html).not.toMatch(/(src|href)=/);
  expect(html).toContain("default-src 'none'");
  for (const told of ['203.0.113.77', 'PaymentQueued', 'payment.completed', 'entries'])
    expect(html).toContain(told);
});

it('is a PDF with the proofs attached, the same bytes for the same life', async () => {
  const bundle: ProofBundle = {
    ...{ paymentId: ids.payment, checkpoint: 'note\n', treeSize: 3 },
    events: [{ index: 0, leaf: 'AA==', proof: ['AQ=='] }],
  };
  const options = { bundle, createdAt: new Date('2026-02-01T00:00:00.000Z') };
  const many = { ...(await life()), deliveries: Array.from({ length: 100 }, () => delivery) };
  const pdf = await pdfOfReport(reportOfLife(many), options);
  expect(await pdfOfReport(reportOfLife(many), options)).toEqual(pdf);
  expect(await attachmentsOf(pdf)).toEqual(
    new Map([['proofs.json', Buffer.from(bundleText(bundle))]]),
  );
  const { pages, isTagged } = await readPdf(pdf, { tags: false });
  expect([isTagged, pages.length > 3]).toEqual([true, true]);
  const text = pages[0]?.join(' ');
  for (const told of [`Payment ${ids.payment}`, 'PaymentQueued', 'address: 203.0.113.77'])
    expect(text).toContain(told);
});

function fail(): never {
  throw new Error('there is a difference');
}
