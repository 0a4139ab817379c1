import { randomUUID } from 'node:crypto';
import type { TransferInstruction } from '../../bank-connection.js';
import { type AchWorld, openAchWorld } from '../../testing/ach-world.js';
import { instructionEnding } from '../../testing/transfer-instructions.js';

let world: AchWorld;
beforeEach(async () => {
  world = await openAchWorld();
});
afterEach(() => world.close());

describe('an acknowledgement', () => {
  it('settles each entry as it says, and the others as accepted', async () => {
    const [good, bad, held, pending] = await Promise.all(
      ['4321', '0205', '0502', '0401'].map((ending) => world.submit(ending)),
    );
    await world.settle();
    const feed = await world.feed();
    const of = (one?: TransferInstruction) => feed.find((n) => n.reference === one?.reference);
    expect(of(good)).toMatchObject({ type: 'confirmed' });
    expect(of(bad)).toMatchObject({
      type: 'rejected',
      rejection: {
        failureCode: 'INVALID_CONTACT_DATA',
        field: 'bankAccount.achAccountNumber',
        railCode: 'ACCOUNT_NUMBER',
      },
    });
    expect(of(held)).toMatchObject({ type: 'held' });
    expect(of(pending)).toBeUndefined();
    expect(await world.bank.submit(held ?? instructionEnding(''))).toEqual({
      outcome: 'pending',
      confirmationExpected: false,
    });
  });

  it('that says again that the bank holds an entry is no second report', async () => {
    const instruction = await world.unacknowledged();
    const { name, sha256 } = world.desk.upload();
    const traceNumber = await world.traceOf(instruction);
    const entries = [{ traceNumber, status: 'held', code: null, message: null }] as const;
    for (const at of ['2026-11-24T15:00:00.000Z', '2026-11-24T15:01:00.000Z']) {
      world.desk.postAck({ name, sha256, status: 'update', entries, at });
      await world.bank.rounds.inbound();
    }
    const acks = (await world.archive.list({ max: 10 })).filter(({ kind }) => kind === 'ack');
    expect(acks).toHaveLength(2);
    expect(await world.feed()).toMatchObject([{ reference: instruction.reference, type: 'held' }]);
  });

  it('that lists no entry is found by each payment in the file, and by no other', async () => {
    const [first, second] = [await world.submit('4321'), await world.submit('1234')];
    await world.settle();
    const other = await world.submit('4321');
    await world.settle();
    const filesOf = async ({ paymentId }: TransferInstruction) =>
      (await world.archive.list({ paymentId, max: 10 })).map(({ way, kind }) => `${way} ${kind}`);
    for (const one of [first, second, other])
      expect(await filesOf(one)).toEqual(['in ack', 'out nacha']);
    expect(await world.archive.list({ max: 10 })).toHaveLength(4);
    expect(await world.archive.list({ paymentId: randomUUID(), max: 10 })).toEqual([]);
  });

  it('about other bytes than ours is found by the payments in our file of that name', async () => {
    const instruction = await world.unacknowledged();
    const { name } = world.desk.upload();
    world.desk.postAck({ name, sha256: 'a'.repeat(64), status: 'accepted' });
    await world.bank.rounds.inbound();
    expect(await world.archive.list({ paymentId: instruction.paymentId, max: 10 })).toMatchObject([
      { way: 'in', kind: 'ack' },
      { way: 'out', name },
    ]);
  });

  it('that was read at last is found, too, and outlives the file that it is about', async () => {
    const instruction = await world.unacknowledged();
    const { name, sha256 } = world.desk.upload();
    world.desk.postAck({ name, sha256, status: 'accepted' });
    const [ack] = world.desk.inbox.entries();
    const [ackName, bytes] = ack ?? ['', Buffer.alloc(0)];
    const { id } = await world.archive.keep({
      ...({ connection: 'test-ach', rail: 'ACH', way: 'in', kind: 'unreadable' } as const),
      ...{ name: ackName, segments: [{ bytes, owner: 'file', paymentId: null }] },
    });
    await world.bank.rounds.inbound();
    const { paymentId } = instruction;
    const [found, ours] = await world.archive.list({ paymentId, max: 10 });
    expect(found).toMatchObject({ way: 'in', kind: 'ack', name: ackName });
    expect(found?.id).not.toBe(id);
    await world.pool.query('DELETE FROM rail_files WHERE id = $1', [ours?.id]);
    expect(await world.archive.list({ max: 10 })).toMatchObject([{ id: found?.id }]);
  });

  it('that rejects the file fails every entry in it', async () => {
    const instruction = await world.unacknowledged();
    const { name, sha256 } = world.desk.upload();
    world.desk.postAck({ name, sha256, status: 'rejected', code: 'FILE_TOTALS' });
    await world.bank.rounds.inbound();
    expect(await world.feed()).toMatchObject([
      {
        type: 'rejected',
        reference: instruction.reference,
        rejection: { failureCode: 'INTERNAL_ERROR', railCode: 'FILE_TOTALS' },
      },
    ]);
  });

  it('that rejects a file which may have come twice proves nothing, and a late acceptance still counts', async () => {
    const instruction = await world.unacknowledged();
    await world.pool.query(
      "UPDATE ach_files SET status = 'recorded', upload_due_at = now() - make_interval(secs => 1)",
    );
    await world.bank.rounds.outbound();
    expect(await world.count('ach_files', 'upload_attempts = 2')).toBe(1);
    const { name, sha256 } = world.desk.upload();
    world.desk.postAck({ name, sha256, status: 'rejected', code: 'LIMIT_EXCEEDED' });
    await world.bank.rounds.inbound();
    const doubt = { type: 'unreadable', reference: `ACH file ${name}` };
    expect(await world.feed()).toMatchObject([doubt]);
    expect(await world.bank.void(instruction.reference)).toEqual({ outcome: 'received' });
    expect(await world.bank.submit(instruction)).toMatchObject({ outcome: 'pending' });
    expect(await world.count('ach_files', "status = 'uploaded' AND overdue_at <= now()")).toBe(1);
    world.desk.postAck({ name, sha256, status: 'accepted' });
    await world.bank.rounds.inbound();
    expect(await world.feed()).toMatchObject([
      doubt,
      { type: 'confirmed', reference: instruction.reference },
    ]);
  });

  it('that rejects a file because the bank has it already proves nothing', async () => {
    const instruction = await world.unacknowledged();
    const { name, sha256 } = world.desk.upload();
    world.desk.postAck({ name, sha256, status: 'rejected', code: 'DUPLICATE_FILE' });
    await world.bank.rounds.inbound();
    expect(await world.feed()).toMatchObject([
      { type: 'unreadable', reference: `ACH file ${name}` },
    ]);
    expect(await world.bank.inquire(instruction.reference)).toEqual({ outcome: 'received' });
  });

  it.each(['accepted', 'returned'] as const)(
    'that rejects a file with an entry that the bank has %s proves nothing about the others',
    async (taken) => {
      world.desk.answersAtOnce = false;
      const [known, other] = [await world.submit('4321'), await world.submit('4321')];
      await world.bank.rounds.outbound();
      const { name, sha256 } = world.desk.upload();
      const traceNumber = await world.traceOf(known);
      if (taken === 'accepted') {
        const entries = [{ traceNumber, status: 'accepted', code: null, message: null }] as const;
        world.desk.postAck({ name, sha256, status: 'update', entries });
      } else {
        await world.desk.answer();
        world.desk.inbox.clear();
        await world.desk.postReturns([traceNumber], 'R01');
      }
      await world.bank.rounds.inbound();
      world.desk.postAck({ name, sha256, status: 'rejected', code: 'OTHER' });
      await world.bank.rounds.inbound();
      expect(await world.feed()).toMatchObject([
        { type: taken === 'accepted' ? 'confirmed' : 'returned', reference: known.reference },
        { type: 'unreadable', reference: `ACH file ${name}` },
      ]);
      expect(await world.bank.submit(other)).toMatchObject({ outcome: 'pending' });
      expect(await world.bank.void(other.reference)).toEqual({ outcome: 'received' });
    },
  );

  it('that rejects an entry of a file which may have come twice proves nothing until copies are recognized', async () => {
    world.desk.answersAtOnce = false;
    const [refused, taken] = [await world.submit('4321'), await world.submit('4321')];
    await world.bank.rounds.outbound();
    await world.pool.query(
      "UPDATE ach_files SET status = 'recorded', upload_due_at = now() - make_interval(secs => 1)",
    );
    await world.bank.rounds.outbound();
    const { name, sha256 } = world.desk.upload();
    const traceNumber = await world.traceOf(refused);
    const entries = [{ traceNumber, status: 'rejected', code: 'AMOUNT', message: null }] as const;
    world.desk.postAck({ name, sha256, entries });
    await world.bank.rounds.inbound();
    const said = [
      { type: 'unreadable', reference: `ACH trace ${traceNumber}` },
      { type: 'confirmed', reference: taken.reference },
    ];
    expect(await world.feed()).toMatchObject(said);
    expect(await world.bank.inquire(refused.reference)).toEqual({ outcome: 'received' });
    world.desk.postAck({ name, sha256, status: 'duplicate' });
    await world.bank.rounds.inbound();
    const rejection = { type: 'rejected', reference: refused.reference };
    expect(await world.feed()).toMatchObject([...said, rejection]);
    world.desk.postAck({ name, sha256, status: 'duplicate', at: '2026-11-24T15:00:01.000Z' });
    await world.bank.rounds.inbound();
    expect(await world.feed()).toHaveLength(3);
  });

  it('that rejects an entry of a file which may have come twice is a reason to ask the bank', async () => {
    const instruction = await world.unacknowledged('0205');
    await world.pool.query(
      "UPDATE ach_files SET status = 'recorded', upload_due_at = now() - make_interval(secs => 1)",
    );
    await world.bank.rounds.outbound();
    world.desk.answersAtOnce = true;
    await world.desk.answer();
    await world.bank.rounds.inbound();
    await world.settle();
    const traceNumber = await world.traceOf(instruction);
    expect(await world.feed()).toMatchObject([
      { type: 'unreadable', reference: `ACH trace ${traceNumber}` },
      { type: 'rejected', reference: instruction.reference },
    ]);
    expect(world.desk.uploads.filter(({ name }) => name.includes('INQUIRY'))).toHaveLength(1);
  });

  it('that accepts the other copy of a file accepts an entry that was rejected in the first', async () => {
    const instruction = await world.unacknowledged();
    await world.pool.query(
      "UPDATE ach_files SET status = 'recorded', upload_due_at = now() - make_interval(secs => 1)",
    );
    await world.bank.rounds.outbound();
    const { name, sha256 } = world.desk.upload();
    const traceNumber = await world.traceOf(instruction);
    const entries = [{ traceNumber, status: 'rejected', code: 'AMOUNT', message: null }] as const;
    world.desk.postAck({ name, sha256, entries });
    await world.bank.rounds.inbound();
    world.desk.postAck({ name, sha256, at: '2026-11-24T15:00:01.000Z' });
    await world.bank.rounds.inbound();
    expect(await world.feed()).toMatchObject([
      { type: 'unreadable', reference: `ACH trace ${traceNumber}` },
      { type: 'confirmed', reference: instruction.reference },
    ]);
    expect(await world.bank.inquire(instruction.reference)).toEqual({ outcome: 'accepted' });
  });

  it('that holds an entry of a file which may have come twice makes its later rejection no proof', async () => {
    const instruction = await world.unacknowledged();
    await world.pool.query(
      "UPDATE ach_files SET status = 'recorded', upload_due_at = now() - make_interval(secs => 1)",
    );
    await world.bank.rounds.outbound();
    const { name, sha256 } = world.desk.upload();
    const traceNumber = await world.traceOf(instruction);
    const entry = { traceNumber, code: null, message: null } as const;
    world.desk.postAck({ name, sha256, entries: [{ ...entry, status: 'held' }] });
    world.desk.postAck({ name, sha256, at: '2026-11-24T15:00:01.000Z' });
    const entries = [{ ...entry, status: 'rejected', code: 'REVIEW' }] as const;
    world.desk.postAck({ name, sha256, status: 'update', entries });
    await world.bank.rounds.inbound();
    const said = [
      { type: 'held', reference: instruction.reference },
      { type: 'unreadable', reference: `ACH trace ${traceNumber}` },
    ];
    expect(await world.feed()).toMatchObject(said);
    expect(await world.bank.inquire(instruction.reference)).toEqual({ outcome: 'received' });
    const at = '2026-11-24T15:00:01.000Z';
    world.desk.postAck({ name, sha256, status: 'update', entries, at });
    await world.bank.rounds.inbound();
    const rejection = { type: 'rejected', reference: instruction.reference };
    expect(await world.feed()).toMatchObject([...said, rejection]);
  });

  it('of a duplicate that comes first lets the rejection of an entry be believed', async () => {
    const instruction = await world.unacknowledged();
    await world.pool.query(
      "UPDATE ach_files SET status = 'recorded', upload_due_at = now() - make_interval(secs => 1)",
    );
    await world.bank.rounds.outbound();
    const { name, sha256 } = world.desk.upload();
    world.desk.postAck({ name, sha256, status: 'duplicate' });
    const traceNumber = await world.traceOf(instruction);
    const entries = [{ traceNumber, status: 'rejected', code: 'AMOUNT', message: null }] as const;
    world.desk.postAck({ name, sha256, entries });
    await world.bank.rounds.inbound();
    expect(await world.feed()).toMatchObject([
      { type: 'rejected', reference: instruction.reference },
    ]);
  });

  it('of a duplicate settles what it lists as accepted, and a rejection in it proves nothing', async () => {
    world.desk.answersAtOnce = false;
    const taken = await world.submit('4321');
    const refused = await world.submit('4321');
    await world.bank.rounds.outbound();
    const { name, sha256 } = world.desk.upload();
    const entry = { code: null, message: null } as const;
    const entries = [
      { ...entry, traceNumber: await world.traceOf(taken), status: 'accepted' },
      { ...entry, traceNumber: await world.traceOf(refused), status: 'rejected', code: 'OTHER' },
    ] as const;
    world.desk.postAck({ name, sha256, status: 'duplicate', entries });
    await world.bank.rounds.inbound();
    const settled = [
      { type: 'confirmed', reference: taken.reference },
      { type: 'unreadable', reference: `ACH trace ${entries[1].traceNumber}` },
    ];
    expect(await world.feed()).toMatchObject(settled);
    expect(await world.bank.inquire(refused.reference)).toEqual({ outcome: 'received' });
    expect(await world.count('ach_files', "status = 'uploaded'")).toBe(1);
    world.desk.postAck({ name, sha256, status: 'update', entries });
    await world.bank.rounds.inbound();
    expect(await world.feed()).toMatchObject([
      ...settled,
      { type: 'rejected', reference: refused.reference },
    ]);
    world.desk.postAck({ name, sha256, status: 'duplicate', at: '2026-11-24T15:00:01.000Z' });
    await world.bank.rounds.inbound();
    expect(await world.count('ach_files', "status = 'acknowledged'")).toBe(1);
  });

  it('that comes twice, late, or for a file that it accepts and then rejects, changes nothing more', async () => {
    const instruction = await world.unacknowledged();
    const { name, sha256 } = world.desk.upload();
    for (const status of ['accepted', 'accepted', 'duplicate', 'rejected'] as const)
      world.desk.postAck({
        name,
        sha256,
        status,
        at: `2026-11-24T15:00:0${status.length % 10}.000Z`,
      });
    await world.settle();
    expect(await world.feed()).toMatchObject([
      { type: 'confirmed', reference: instruction.reference },
      // It contradicts itself: staff look.
      { type: 'unreadable', reference: `ACH file ${name}` },
    ]);
  });

  it('that follows an update does not confirm what the update left open', async () => {
    const instruction = await world.unacknowledged();
    const { name, sha256 } = world.desk.upload();
    const traceNumber = await world.traceOf(instruction);
    const entries = [{ traceNumber, status: 'pending', code: null, message: null }] as const;
    world.desk.postAck({ name, sha256, status: 'update', entries });
    await world.bank.rounds.inbound();
    world.desk.postAck({ name, sha256, status: 'accepted' });
    await world.bank.rounds.inbound();
    expect(await world.feed()).toEqual([]);
    expect(await world.bank.inquire(instruction.reference)).toEqual({ outcome: 'received' });
  });

  it('of other bytes, of no file of ours, or of no entry of ours is shown to staff and settles nothing', async () => {
    const instruction = await world.unacknowledged();
    const { name, sha256 } = world.desk.upload();
    world.desk.postAck({ name, sha256: sha256.replace(/^./, (c) => (c === '0' ? '1' : '0')) });
    world.desk.postAck({ name: 'unknown.ach', sha256 });
    const entry = { status: 'rejected', code: 'OTHER', message: null } as const;
    const traceNumber = '021000029999999';
    world.desk.postAck({ name, sha256, status: 'update', entries: [{ traceNumber, ...entry }] });
    await world.bank.rounds.inbound();
    expect((await world.feed()).map(({ reference }) => reference)).toEqual([
      `ACH file ${name}`,
      'ACH file unknown.ach',
      `ACH trace ${traceNumber}`,
    ]);
    expect(await world.bank.inquire(instruction.reference)).toEqual({ outcome: 'received' });
  });

  it('about an entry of another file settles nothing', async () => {
    const first = await world.unacknowledged();
    await world.pool.query("UPDATE ach_files SET overdue_at = now() - interval '1 second'");
    await world.unacknowledged();
    const { name, sha256 } = world.desk.upload(1);
    const traceNumber = await world.traceOf(first);
    const entries = [{ traceNumber, status: 'accepted', code: null, message: null }] as const;
    world.desk.postAck({ name, sha256, status: 'update', entries });
    await world.bank.rounds.inbound();
    expect(await world.feed()).toMatchObject([{ reference: `ACH trace ${traceNumber}` }]);
    expect(await world.bank.inquire(first.reference)).toEqual({ outcome: 'received' });
  });

  it('that answers twice for one entry means the last answer', async () => {
    const instruction = await world.unacknowledged();
    const { name, sha256 } = world.desk.upload();
    const traceNumber = await world.traceOf(instruction);
    const entry = { traceNumber, code: null, message: null } as const;
    const entries = [
      { ...entry, status: 'accepted' },
      { ...entry, status: 'rejected' },
    ] as const;
    world.desk.postAck({ name, sha256, status: 'update', entries });
    await world.bank.rounds.inbound();
    expect(await world.feed()).toMatchObject([
      { type: 'rejected', reference: instruction.reference },
    ]);
  });

  it.each(['DUPLICATE_ENTRY', 'R24'])(
    'that calls an entry a duplicate (%s) proves nothing about it',
    async (code) => {
      const instruction = await world.unacknowledged();
      const { name, sha256 } = world.desk.upload();
      const traceNumber = await world.traceOf(instruction);
      const entries = [{ traceNumber, status: 'rejected', code, message: null }] as const;
      world.desk.postAck({ name, sha256, entries });
      await world.bank.rounds.inbound();
      expect(await world.feed()).toMatchObject([
        { type: 'unreadable', reference: `ACH trace ${traceNumber}` },
      ]);
      expect(await world.bank.inquire(instruction.reference)).toEqual({ outcome: 'received' });
      expect(await world.bank.void(instruction.reference)).toEqual({ outcome: 'received' });
    },
  );

  it('is asked for once in a pause, for an entry that is not settled', async () => {
    const instruction = await world.submit('0402');
    await world.settle();
    const bank = world.open({ limits: { inquiryPauseMs: 3_600_000 } });
    for (let times = 0; times < 3; times += 1) {
      expect(await bank.inquire(instruction.reference)).toEqual({ outcome: 'received' });
      await bank.rounds.outbound();
    }
    expect(world.desk.uploads.filter(({ name }) => name.includes('INQUIRY'))).toHaveLength(1);
    await world.settle();
    expect(await world.feed()).toMatchObject([{ type: 'confirmed' }]);
  });
});
