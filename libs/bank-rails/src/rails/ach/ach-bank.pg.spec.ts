import { setImmediate } from 'node:timers/promises';
import { ownerOf } from '@pis/keyring';
import { until } from '@pis/local-servers/testing';
import { BankRefused } from '../../bank-connection.js';
import { type AchWorld, openAchWorld } from '../../testing/ach-world.js';
import { instructionEnding } from '../../testing/transfer-instructions.js';
import { sha256Of } from './ach-file-builder.js';

let world: AchWorld;
beforeEach(async () => {
  world = await openAchWorld();
});
afterEach(() => world.close());

const types = async () => (await world.feed()).map(({ type }) => type);

describe('a transfer over ACH', () => {
  it('is durable before the answer, then in one file, then confirmed', async () => {
    const instruction = instructionEnding('4321');
    expect(await world.bank.submit(instruction)).toEqual({
      outcome: 'pending',
      confirmationExpected: true,
    });
    expect(await world.count('ach_entries', "status = 'waiting'")).toBe(1);
    await world.settle();
    expect(await world.feed()).toMatchObject([
      { type: 'confirmed', reference: instruction.reference },
    ]);
    expect(await world.bank.submit(instruction)).toEqual({ outcome: 'accepted' });
    expect(await world.bank.inquire(instruction.reference)).toEqual({ outcome: 'accepted' });
    await world.settle();
    expect([...world.desk.executions.values()]).toEqual([1]);
    expect(world.desk.uploads).toHaveLength(1);
  });

  it('waits in a queue of ours until its file is uploaded and the inbox was read', async () => {
    const { reference } = await world.submit('4321');
    const queued = async (one: string) => [...((await world.bank.queued?.([one])) ?? [])];
    expect(await queued(reference)).toEqual([reference]);
    await world.bank.rounds.outbound();
    expect(await queued(reference)).toEqual([reference]);
    // A reading that began in the millisecond of the upload does not count.
    const leavesOnceRead = (one: string) =>
      until(
        async () => {
          await world.bank.rounds.inbound();
          return (await queued(one)).length === 0;
        },
        { timeoutMs: 10_000, what: 'an empty queue' },
      );
    await leavesOnceRead(reference);
    await leavesOnceRead((await world.unacknowledged()).reference);
  });

  it('has the account, the name, the note and the amount of the instruction', async () => {
    const instruction = await world.submit('4321', { contactName: 'Zoë Ångström', note: 'Grüße' });
    await world.settle();
    expect(world.desk.entry(await world.traceOf(instruction))).toMatchObject({
      batch: { standardEntryClass: 'PPD', companyName: 'ACME PAYMENTS', odfi: '02100002' },
      entry: {
        transactionCode: '32',
        receivingDfi: '011000138',
        accountNumber: '776655444321',
        amountMinor: 12_345,
        individualName: 'Zoe Angstrom',
        addenda: { kind: 'payment', information: 'Grusse' },
      },
    });
  });

  it.each([
    ['INBOUND', 'INDIVIDUAL', 'WEB', '37'],
    ['INBOUND', 'BUSINESS', 'CCD', '37'],
    ['OUTBOUND', 'BUSINESS', 'CCD', '32'],
  ] as const)('%s with %s is %s', async (direction, contactEntityType, sec, code) => {
    const instruction = await world.submit('4321', { direction, contactEntityType });
    await world.settle();
    expect(world.desk.entry(await world.traceOf(instruction))).toMatchObject({
      batch: { standardEntryClass: sec },
      entry: { transactionCode: code },
    });
  });

  it('is named RETRY PYMT in a batch of its own when it presents a returned debit again', async () => {
    const debit = { direction: 'INBOUND', contactEntityType: 'BUSINESS' } as const;
    const first = await world.submit('4321', debit);
    const again = await world.submit('4321', { ...debit, isReinitiation: true });
    await world.settle();
    const batchOf = async (instruction: typeof first) =>
      world.desk.entry(await world.traceOf(instruction))?.batch;
    const [one, other] = [await batchOf(first), await batchOf(again)];
    expect(one).toHaveProperty('entryDescription', 'COLLECTION');
    expect(other).toHaveProperty('entryDescription', 'RETRY PYMT');
    // The rule wants the same company.
    expect([other?.companyId, other?.companyName]).toEqual([one?.companyId, one?.companyName]);
    expect(world.desk.uploads).toHaveLength(1);
  });

  it('is refused under a reference that has other terms', async () => {
    const instruction = await world.submit('4321');
    const account = { ...instruction.contactAccount, achAccountNumber: '1234321' };
    for (const changes of [{ amountMinor: 1 }, { contactAccount: account }]) {
      const changed = { ...instruction, ...changes };
      await expect(world.bank.submit(changed)).rejects.toBeInstanceOf(BankRefused);
    }
    await world.settle();
    expect([...world.desk.executions.values()]).toEqual([1]);
  });

  it('is rejected for good when no file can hold it, and never reaches the bank', async () => {
    const instruction = instructionEnding('4321', { contactName: '李雷' });
    const error = { outcome: 'error', rejection: { failureCode: 'INVALID_CONTACT_DATA' } };
    expect(await world.bank.submit(instruction)).toMatchObject(error);
    expect(await world.bank.submit(instruction)).toMatchObject(error);
    expect(await world.bank.void(instruction.reference)).toEqual({ outcome: 'voided' });
    await world.settle();
    expect(world.desk.uploads).toEqual([]);
  });

  it('leaves no account number, name or note in a table', async () => {
    await world.submit('4321');
    for (const filed of [false, true]) {
      if (filed) await world.settle();
      for (const table of [
        'ach_entries',
        'ach_files',
        'ach_feed',
        'rail_files',
        'rail_file_parts',
      ]) {
        const { rows } = await world.pool.query(`SELECT * FROM ${table}`);
        const text = JSON.stringify(rows);
        for (const secret of ['776655444321', 'Lovelace', 'LOVELACE', 'Invoice'])
          expect(text).not.toContain(secret);
      }
    }
    expect(await world.count('ach_entries', 'sealed_receiver IS NOT NULL')).toBe(0);
    expect(world.lines.join('\n')).not.toContain('776655444321');
  });

  it('is rejected when the contact was erased before it was in a file', async () => {
    const instruction = await world.submit('4321');
    const other = await world.submit('4321', { contactId: '00000000-0000-4000-8000-000000000001' });
    await world.keyring.destroy([ownerOf.contact(instruction.contactId)]);
    await world.settle();
    expect(await world.feed()).toMatchObject([
      {
        type: 'rejected',
        reference: instruction.reference,
        rejection: { failureCode: 'INVALID_CONTACT_DATA' },
      },
      { type: 'confirmed', reference: other.reference },
    ]);
    expect(world.desk.executions.size).toBe(1);
  });

  it('is rejected when its row was altered, and holds up no other', async () => {
    const altered = await world.submit('4321');
    const other = await world.submit('4321', { contactId: '00000000-0000-4000-8000-000000000001' });
    await world.pool.query(
      `UPDATE ach_entries SET sealed_receiver = (
         SELECT sealed_receiver FROM ach_entries WHERE reference = $2) WHERE reference = $1`,
      [altered.reference, other.reference],
    );
    await world.settle();
    expect(await world.feed()).toMatchObject([
      { type: 'rejected', reference: altered.reference },
      { type: 'confirmed', reference: other.reference },
    ]);
    expect(world.desk.executions.size).toBe(1);
  });

  it('is not taken when the submission comes too late', async () => {
    const terms = { submissionInFlightMaxMs: 0, referenceMemoryMs: 1_000 };
    const bank = world.open({ terms });
    await expect(bank.submit(instructionEnding('4321'))).rejects.toMatchObject({
      name: 'BankUnavailable',
    });
    expect(await world.count('ach_entries')).toBe(0);
  });
});

describe('a void', () => {
  it('wins while the entry is in no file, and loses afterwards', async () => {
    const early = await world.submit('4321');
    expect(await world.bank.void(early.reference)).toEqual({ outcome: 'voided' });
    const late = await world.submit('4321');
    world.desk.answersAtOnce = false;
    await world.bank.rounds.outbound();
    expect(await world.bank.void(late.reference)).toEqual({ outcome: 'received' });
    expect(await world.bank.inquire(late.reference)).toEqual({ outcome: 'received' });
    await world.desk.answer();
    await world.settle();
    expect(await world.feed()).toMatchObject([{ type: 'confirmed', reference: late.reference }]);
    expect(world.desk.executions.size).toBe(1);
    expect(await world.bank.submit(early)).toMatchObject({ outcome: 'error' });
  });
});

describe('a reference without a row', () => {
  it('is told as one that was never seen, also after it was voided', async () => {
    const { reference } = instructionEnding('4321');
    expect(await world.bank.inquire(reference)).toEqual({ outcome: 'unknown', isUnseen: true });
    const voided = { outcome: 'voided', isUnseen: true };
    expect(await world.bank.void(reference)).toEqual(voided);
    expect(await world.bank.void(reference)).toEqual(voided);
    expect(await world.bank.inquire(reference)).toMatchObject({ outcome: 'error', isUnseen: true });
  });
});

describe('files to the bank', () => {
  it('take a thousand entries at once, each exactly once', async () => {
    const instructions = Array.from({ length: 1_000 }, () => instructionEnding('4321'));
    await Promise.all(instructions.map((instruction) => world.bank.submit(instruction)));
    await world.settle();
    expect(world.desk.uploads).toHaveLength(1);
    expect(world.desk.executions.size).toBe(1_000);
    const confirmed = (await world.feed()).map(({ reference }) => reference);
    expect(confirmed.sort()).toEqual(instructions.map(({ reference }) => reference).sort());
  });

  it('go one at a time: the next one takes what waited for the acknowledgement', async () => {
    world.desk.answersAtOnce = false;
    await world.submit('4321');
    await world.bank.rounds.outbound();
    for (const ending of ['1111', '2222', '3333']) await world.submit(ending);
    expect(await world.bank.rounds.outbound()).toBeGreaterThan(0);
    expect(world.desk.uploads).toHaveLength(1);
    world.desk.answersAtOnce = true;
    await world.desk.answer();
    await world.settle();
    expect(world.desk.uploads).toHaveLength(2);
    expect(await types()).toEqual(['confirmed', 'confirmed', 'confirmed', 'confirmed']);
  });

  it('do not wait for an acknowledgement that never comes', async () => {
    world.desk.answersAtOnce = false;
    const lost = await world.submit('4321');
    await world.bank.rounds.outbound();
    await world.pool.query("UPDATE ach_files SET overdue_at = now() - interval '1 second'");
    const next = await world.submit('4321');
    await world.bank.rounds.outbound();
    expect(world.desk.uploads).toHaveLength(2);
    expect(await world.bank.inquire(lost.reference)).toEqual({ outcome: 'received' });
    // It comes days later.
    await world.desk.answer();
    await world.settle();
    expect((await world.feed()).map(({ reference }) => reference).sort()).toEqual(
      [lost.reference, next.reference].sort(),
    );
  });

  it('are not sent by another process while an upload takes long', async () => {
    const due = async () => {
      const { rows } = await world.pool.query<{ due: string }>(
        'SELECT upload_due_at::text AS due FROM ach_files',
      );
      return rows[0]?.due;
    };
    const inner = world.desk.transport();
    const started = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const slow = world.open({
      transport: {
        ...inner,
        put: async (name, bytes) => {
          started.resolve();
          await release.promise;
          await inner.put(name, bytes);
        },
      },
      limits: { uploadTakeoverMs: 2_000 },
    });
    await world.submit('4321');
    const sending = slow.rounds.outbound();
    await started.promise;
    const first = await due();
    while ((await due()) === first) await setImmediate();
    release.resolve();
    await sending;
    expect(await world.count('ach_files', "status = 'acknowledged' OR status = 'uploaded'")).toBe(
      1,
    );
    expect(world.desk.uploads).toHaveLength(1);
  });

  it('are built by one of two builders', async () => {
    const other = world.open();
    const instructions = Array.from({ length: 200 }, () => instructionEnding('4321'));
    await Promise.all(
      instructions.map(async (instruction, index) => {
        await (index % 2 === 0 ? world.bank : other).submit(instruction);
        if (index % 20 === 0)
          await Promise.all([world.bank.rounds.outbound(), other.rounds.outbound()]);
        if (index % 30 === 0)
          await Promise.all([world.bank.rounds.inbound(), other.rounds.inbound()]);
      }),
    );
    await world.settle();
    await world.settle(other);
    expect(world.desk.executions.size).toBe(200);
    expect([...world.desk.executions.values()].every((times) => times === 1)).toBe(true);
    expect(await types()).toEqual(Array.from({ length: 200 }, () => 'confirmed'));
  });

  it('wait for the cutoff', async () => {
    const schedule = {
      buildAt: (_service: unknown, atMs: number) => atMs + 3_600_000,
      settlement: () => ({ effectiveDate: '2026-11-25', sameDayAt: null }),
      liveFrom: (atMs: number) => atMs,
    };
    const bank = world.open({ schedule });
    await bank.submit(instructionEnding('4321'));
    const waitMs = await bank.rounds.outbound();
    expect(waitMs).toBeGreaterThan(3_500_000);
    expect(world.desk.uploads).toEqual([]);
    await world.pool.query('UPDATE ach_entries SET due_at = now() - make_interval(secs => 1)');
    await world.settle(bank);
    expect(world.desk.uploads).toHaveLength(1);
  });

  it('are never sent with other bytes than the recorded ones', async () => {
    await world.submit('4321');
    const away = () => Promise.reject(new BankRefused('no'));
    const transport = { ...world.desk.transport(), put: away };
    await world.open({ transport }).rounds.outbound();
    await world.pool.query('UPDATE ach_files SET upload_due_at = now() - make_interval(secs => 1)');
    // An erasure that should not have been possible: its payment is not final.
    await world.keyring.destroy([ownerOf.contact(instructionEnding('1').contactId)]);
    await world.bank.rounds.outbound();
    expect(world.desk.uploads).toEqual([]);
    expect(await world.count('ach_files', "status = 'unsendable'")).toBe(1);
    expect(await world.feed()).toMatchObject([{ type: 'unreadable' }]);
  });

  it('have the recorded bytes and trace numbers that ascend', async () => {
    for (let files = 0; files < 3; files += 1) {
      await world.submit('4321');
      await world.settle();
    }
    const { rows } = await world.pool.query<{ sha256: string; name: string }>(
      'SELECT name, sha256 FROM ach_files ORDER BY id',
    );
    expect(
      world.desk.uploads.map(({ name, bytes }) => ({ name, sha256: sha256Of(bytes) })),
    ).toEqual(rows);
    expect([...world.desk.executions.keys()]).toEqual([
      '021000020000001',
      '021000020000002',
      '021000020000003',
    ]);
  });

  it('begin trace numbers anew when seven digits are used up', async () => {
    await world.submit('4321');
    await world.settle();
    await world.pool.query('UPDATE ach_banks SET last_trace = 9999999');
    await world.submit('4321');
    await world.settle();
    expect(await types()).toEqual(['confirmed', 'confirmed']);
  });
});
