/** Requests that are wrong in every way and carry personal data: to the API, the broker, the command line and the bank. */
import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { BankRefused } from '@pis/bank-rails';
import { type BankConnectionConfig, readBanksFile } from '@pis/bank-rails/banks';
import { openFileTransport, openMessageTransport } from '@pis/bank-rails/connections';
import { unreachable } from '@pis/domain';
import type { MarkedParty } from './markers.js';
import type { MarkedRun } from './personal-data-run.js';
import { pis } from './process.js';
import { publish } from './topics.js';

/** @returns what all of them were answered */
export async function sendWrongInput(
  run: MarkedRun,
  bait: MarkedParty,
): Promise<readonly string[]> {
  const originatorId = run.record('olga').id;
  const one = (field: string) => bait.markers.find((marker) => marker.field === field)?.text ?? '';
  const valid = { originatorId, ...bait.fields };
  const wrong = new WrongInput(run);
  for (const text of wrongBodies(valid, one)) await wrong.request('POST', '/v1/contacts/', text);
  const bankAccount = {
    subType: 'CHECKING',
    achRoutingNumber: one('achRoutingNumber'),
    achAccountNumber: one('achAccountNumber').slice(0, 3),
  };
  const changes = JSON.stringify({ email: one('email'), bankAccount });
  for (const { id } of run.records.values()) {
    await wrong.request('PATCH', `/v1/contacts/${id}`, changes);
    await wrong.request('PATCH', `/v1/originators/${id}`, changes);
  }
  await wrong.request('PATCH', `/v1/contacts/${one('email')}@example.com`, '{}');
  await wrong.request('GET', `/v1/payments/${one('achAccountNumber')}`);
  await wrong.request('GET', `/v1/${one('lastName')}/${one('firstName')}`);
  await wrong.request('GET', `/v1/payments/?contactId=${one('email')}&cursor=${one('lastName')}`);
  await wrong.request('GET', `/v1/%${one('lastName')}`);
  const whole = JSON.stringify(valid);
  const key = { authorization: `Bearer ${one('lastName')}` };
  await wrong.request('POST', '/v1/contacts/', whole, key);
  const type = { 'content-type': `text/${one('lastName')}` };
  await wrong.request('POST', '/v1/contacts/', whole, type);
  await wrong.raw(`GET /${one('lastName')} HTTP/1.1\r\n\r\n`);
  await wrong.raw(`${one('lastName')} ${one('firstName')}\r\n\r\n`);
  await wrong.raw(`GET / HTTP/1.1\r\nHost: x\r\n${one('email')}\r\n\r\n`);
  const text = `{"firstName":"${one('firstName')}",${one('lastName')}}`;
  await publish(run.system.environment, 'pis.payment-events.v1', {
    key: randomUUID(),
    value: text,
  });
  await wrong.commands(JSON.stringify({ ...valid, email: one('email') }));
  await wrong.transfers(
    JSON.stringify({ contactName: one('lastName'), contactAccount: bankAccount }),
  );
  return wrong.answers;
}

function wrongBodies(
  valid: Readonly<Record<string, unknown>>,
  one: (field: string) => string,
): readonly string[] {
  const number = one('achAccountNumber');
  const account = { subType: 'CHECKING', achRoutingNumber: one('achRoutingNumber') };
  const bodies = [
    { ...valid, entityType: one('firstName') },
    { ...valid, email: `${one('email')}@@` },
    { ...valid, firstName: { [one('firstName')]: one('lastName') } },
    { ...valid, phoneNumber: one('phoneNumber') },
    { ...valid, legalAddress: { addressLine1: one('addressLine1') } },
    { ...valid, legalAddress: one('addressLine1') },
    { ...valid, bankAccount: { ...account, achAccountNumber: `${number}x` } },
    { ...valid, bankAccount: { ...account, achAccountNumber: Number(number) } },
    { ...valid, originatorId: one('firstName') },
    { ...valid, originatorId: randomUUID() },
    { ...valid, firstName: `${one('firstName')}\0` },
    { ...valid, firstName: one('firstName').repeat(5_000) },
  ];
  const whole = JSON.stringify(valid);
  return [
    ...bodies.map((body) => JSON.stringify(body)),
    `${whole},`,
    whole.slice(0, -1),
    `{"firstName":"${one('firstName')}","firstName":"${one('lastName')}"}`,
    number,
  ];
}

class WrongInput {
  readonly answers: string[] = [];

  constructor(private readonly run: MarkedRun) {}

  async request(
    method: string,
    at: string,
    body?: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const { apiUrl, apiKey } = this.run.system;
    const response = await fetch(`${apiUrl}${at}`, {
      method,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
    });
    const answer = await response.text();
    expect([response.status, answer]).toEqual([
      expect.any(Number),
      expect.stringContaining('error'),
    ]);
    expect(response.status).toBeLessThan(500);
    this.answers.push(answer);
  }

  /** Bytes that are no request. */
  async raw(bytes: string): Promise<void> {
    const { hostname, port } = new URL(this.run.system.apiUrl);
    const socket = connect(Number(port), hostname);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.end(bytes);
    await once(socket, 'close');
    this.answers.push(Buffer.concat(chunks).toString('utf8'));
  }

  async commands(text: string): Promise<void> {
    const organization = await this.run.organizationId();
    for (const content of [text.replace('@example.com', ''), `${text}}`]) {
      const file = path.join(os.tmpdir(), `pis-${randomUUID()}.json`);
      writeFileSync(file, content);
      const args = ['originator', 'create', '--organization', organization, '--file', file];
      const { code, stdout, stderr } = await pis(args, this.run.system.environment);
      rmSync(file);
      expect([code, stderr]).toEqual([1, expect.any(String)]);
      this.answers.push(stdout, stderr);
    }
  }

  /** Where the bank is a process of its own. */
  async transfers(text: string): Promise<void> {
    const { bankUrl, environment } = this.run.system;
    if (bankUrl === undefined) return;
    for (const body of [text, `${text}}`])
      for (const at of ['transfers', 'inquiries', 'voids']) {
        const response = await fetch(`${bankUrl}/bank/${at}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body,
        });
        expect([400, 422]).toContain(response.status);
        this.answers.push(await response.text());
      }
    const file = environment['PIS_BANKS_FILE'] ?? '';
    const { connections } = await readBanksFile(file, { environment: 'sandbox' });
    for (const { name, protocol } of connections) await this.toBank(protocol, { name, text });
  }

  /** Over the connections of the banks file: neither a NACHA file nor an ISO 20022 message. */
  private async toBank(
    protocol: BankConnectionConfig['protocol'],
    { name, text }: { readonly name: string; readonly text: string },
  ): Promise<void> {
    const bytes = Buffer.from(text);
    switch (protocol.kind) {
      case 'sftp': {
        const files = await openFileTransport(protocol, { name, env: {} });
        await files.put(`WRONG-${randomUUID()}.ach`, bytes).finally(() => files.close());
        return;
      }
      case 'https': {
        const messages = await openMessageTransport(protocol, { name, env: {} });
        const refused = await messages
          .send({ id: 'WRONG', xml: bytes })
          .catch((error: unknown) => error)
          .finally(() => messages.close());
        expect(refused).toBeInstanceOf(BankRefused);
        this.answers.push(String(refused));
        return;
      }
      case 'json':
        throw new Error('the banks file names the JSON connection');
      default:
        return unreachable(protocol);
    }
  }
}
