/**
 * Payments by link: a user signs in and requests them, and counterparties open the link and enter an account. All
 * that is sent can be found again: names, account numbers, addresses, visitors, the password and the tokens.
 */
import { randomUUID } from 'node:crypto';
import type { UserRole } from '@pis/domain';
import { capital, type MarkedParty, markedParty, type Marker } from './markers.js';
import type { MarkedRun, Record } from './personal-data-run.js';
import { pis } from './process.js';

/** Somebody who is no saved contact, and pays. */
export const payerTag = 'lena';
/** A saved contact, who enters another account than the saved one. */
export const savedPayerTag = 'lise';
/** No saved contact: the payment was canceled after the link was opened. */
export const canceledTag = 'kurt';
export const linkTags = [payerTag, savedPayerTag, canceledTag];

export const userTag = 'ursula';
/** Approves what needs a second person. */
const secondTag = 'selma';
const paymentAmount = 12_345;
/** Fields that no link asks for. */
const notAsked = ['email', 'phoneNumber'];
const nameFields = ['firstName', 'lastName'];

let visitorsGiven = 0;

/** A browser at an address of its own. */
interface Visitor {
  readonly headers: Readonly<globalThis.Record<string, string>>;
  readonly markers: readonly Marker[];
}

interface Link {
  readonly paymentId: string;
  /** Of the counterparty, saved or not. */
  readonly contactId: string;
  readonly url: string;
}

export async function linksAreUsed(run: MarkedRun, originator: Record): Promise<void> {
  const user = await signedIn(run, userTag, 'operator');
  const second = await signedIn(run, secondTag, 'approver');
  await approvalsAreAsked(run);
  await Promise.all([
    unsavedPays(run, user, originator),
    savedPays(run, user, originator),
    linkIsCanceled(run, user, second, originator),
  ]);
}

/** Its page says nothing of the payer any more. */
export async function pageNamesNobody(run: MarkedRun, tag: string): Promise<void> {
  const url = run.linkOf(tag);
  const response = await fetch(url);
  const page = (await response.text()).toLowerCase();
  expect([tag, response.status]).toEqual([tag, tag === canceledTag ? 404 : 200]);
  for (const { text } of run.markersOf(tag)) expect(page).not.toContain(text);
}

async function unsavedPays(run: MarkedRun, user: User, originator: Record): Promise<void> {
  const party = markedParty({ tag: payerTag, entityType: 'INDIVIDUAL', bank: 'with RTP' });
  const visitor = visitorOf(payerTag);
  const link = await requested(run, user, originator, payerTag, recipientOf(party));
  keep(run, payerTag, link, [{ ...without(party, notAsked), ...more(party, visitor) }]);
  await submitted(run, link, party, visitor);
}

async function savedPays(run: MarkedRun, user: User, originator: Record): Promise<void> {
  const { id: contactId, parties } = await run.contact(savedPayerTag, originator);
  const entered = markedParty({
    tag: `${savedPayerTag}entered`,
    entityType: 'INDIVIDUAL',
    bank: 'with RTP',
  });
  const visitor = visitorOf(savedPayerTag);
  const link = await requested(run, user, originator, savedPayerTag, { contactId });
  const party = without(entered, [...notAsked, ...nameFields]);
  keep(run, savedPayerTag, link, [...parties, { ...party, ...more(party, visitor) }]);
  await submitted(run, link, entered, visitor);
}

/** Above the amount of the other payments. */
async function approvalsAreAsked(run: MarkedRun): Promise<void> {
  const amount = ['--amount-above', String(paymentAmount)];
  const args = ['organization', 'approvals', 'set', '--id', await run.organizationId(), ...amount];
  const set = await pis(args, run.system.environment);
  expect([set.code, set.stderr]).toEqual([0, '']);
}

/** It needs a second person first. */
async function linkIsCanceled(
  run: MarkedRun,
  user: User,
  second: User,
  originator: Record,
): Promise<void> {
  const party = markedParty({ tag: canceledTag, entityType: 'INDIVIDUAL', bank: 'with RTP' });
  const visitor = visitorOf(canceledTag);
  const recipient = recipientOf(party);
  const link = await requested(run, user, originator, canceledTag, recipient, second);
  const named = { ...party, markers: party.markers.filter(({ kind }) => kind === 'name') };
  keep(run, canceledTag, { ...link, paymentId: null }, [{ ...named, ...more(named, visitor) }]);
  expect((await fetch(link.url, { headers: visitor.headers })).status).toBe(200);
  await user.call(200, `/payments/${link.paymentId}/cancel`, null);
  expect((await fetch(link.url, { headers: visitor.headers })).status).toBe(404);
}

/** Wrongly first, as people do. */
async function submitted(
  run: MarkedRun,
  { url, paymentId }: Link,
  { fields }: MarkedParty,
  visitor: Visitor,
): Promise<void> {
  const { headers } = visitor;
  const page = await (await fetch(url, { headers })).text();
  const formToken = /name="formToken" value="([0-9a-f]{64})"/.exec(page)?.[1] ?? '';
  const { subType, achRoutingNumber, achAccountNumber } = fields['bankAccount'] as {
    readonly subType: string;
    readonly achRoutingNumber: string;
    readonly achAccountNumber: string;
  };
  const post = (achAccountNumberConfirmation: string) =>
    fetch(url, {
      method: 'POST',
      headers,
      redirect: 'manual',
      body: new URLSearchParams({
        ...{ formToken, subType, achRoutingNumber, achAccountNumber },
        achAccountNumberConfirmation,
        ...(fields['legalAddress'] as globalThis.Record<string, string>),
      }),
    });
  const refused = await post(`${achAccountNumber}1`);
  expect(refused.status).toBe(400);
  expect(await refused.text()).not.toContain(achAccountNumber);
  expect((await post(achAccountNumber)).status).toBe(303);
  expect((await post(achAccountNumber)).status).toBe(409);
  await run.reaches(paymentId, 'COMPLETED');
}

async function requested(
  run: MarkedRun,
  user: User,
  originator: Record,
  tag: string,
  recipient: object,
  second: User | null = null,
): Promise<Link> {
  const amount = paymentAmount + (second === null ? 0 : 1);
  const answer = await user.call<{ paymentId?: string; approvalId?: string }>(200, '/payments', {
    ...{ originatorId: originator.id, direction: 'INBOUND', recipient, paymentAmount: amount },
    idempotencyKey: randomUUID(),
  });
  if (second !== null) await second.call(200, `/approvals/${answer.approvalId}/approve`, null);
  const paymentId = answer.paymentId ?? answer.approvalId ?? '';
  const shown = await user.call<{ url: string }>(200, `/payments/${paymentId}/link`, null);
  const { pathname } = new URL(shown.url);
  run.secret(tag, 'token', pathname.slice('/pay/'.length));
  const [row] = await run.query<{ id: string | null }>(
    'SELECT counterparty_id AS id FROM payment_links WHERE payment_id = $1',
    [paymentId],
  );
  const contactId = 'contactId' in recipient ? String(recipient.contactId) : (row?.id ?? '');
  return { paymentId, contactId, url: `${run.system.urlOf('payment-pages')}${pathname}` };
}

function keep(
  run: MarkedRun,
  tag: string,
  { contactId, paymentId, url }: Omit<Link, 'paymentId'> & { readonly paymentId: string | null },
  parties: readonly MarkedParty[],
): void {
  const paymentIds = paymentId === null ? [] : [paymentId];
  run.records.set(tag, { id: contactId, parties, paymentIds, linkUrl: url });
}

function recipientOf({ fields }: MarkedParty): object {
  const { entityType, firstName, lastName } = fields;
  return { entityType, firstName, lastName };
}

function without(party: MarkedParty, fields: readonly string[]): MarkedParty {
  return { ...party, markers: party.markers.filter(({ field }) => !fields.includes(field)) };
}

function more({ markers }: MarkedParty, visitor: Visitor): Pick<MarkedParty, 'markers'> {
  return { markers: [...markers, ...visitor.markers] };
}

function visitorOf(tag: string): Visitor {
  visitorsGiven += 1;
  const address = `fd73:2155:${String(visitorsGiven).padStart(4, '5')}`;
  const agent = `zqx${tag}qagent`;
  return {
    headers: {
      'x-forwarded-for': `${address}:5555:5555:5555:5555:5555`,
      'user-agent': `${capital(agent)}/1.0`,
    },
    markers: [
      { tag, field: 'ip', kind: 'visitor', text: address },
      { tag, field: 'userAgent', kind: 'visitor', text: agent },
    ],
  };
}

interface User {
  /** A POST. @returns the data of the answer */
  call<Data>(status: number, at: string, body: unknown): Promise<Data>;
}

async function signedIn(run: MarkedRun, tag: string, role: UserRole): Promise<User> {
  const { markers, headers } = visitorOf(tag);
  const email = run.secret(tag, 'email', `zqx${tag}qemail`);
  const password = run.secret(tag, 'password', `zqx${tag}qpassword`);
  for (const { field, text } of markers) run.secret(tag, field, text);
  const account = { email: `${email}@example.com`, password };
  const organization = ['--organization', await run.organizationId()];
  const args = ['user', 'create', ...organization, '--email', account.email, '--role', role];
  const created = await pis([...args, '--json'], run.system.environment, `${password}\n`);
  expect([created.code, created.stderr]).toEqual([0, '']);
  run.users.set(tag, (JSON.parse(created.stdout) as { userId: string }).userId);
  const origin = run.system.urlOf('dashboard');
  const post = (at: string, body: unknown, cookie = '') =>
    fetch(`${origin}/dashboard/api${at}`, {
      method: 'POST',
      headers: {
        ...headers,
        ...{ origin, cookie, 'x-pis-dashboard': '1', 'sec-fetch-site': 'same-origin' },
        ...(body === null ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === null ? {} : { body: JSON.stringify(body) }),
    });
  expect((await post('/sign-in', { ...account, password: `${password}1` })).status).toBe(401);
  const answer = await post('/sign-in', account);
  expect(answer.status).toBe(200);
  const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';');
  run.secret(tag, 'session', cookie.slice(cookie.indexOf('=') + 1));
  return {
    async call(status, at, body) {
      const reply = await post(at, body, cookie);
      const text = await reply.text();
      expect([at, reply.status, text]).toEqual([at, status, text]);
      return (JSON.parse(text) as { data: never }).data;
    },
  };
}
