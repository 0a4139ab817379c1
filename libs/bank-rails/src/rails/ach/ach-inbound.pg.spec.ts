import { CannotOpen, ownerOf } from '@pis/keyring';
import {
  BankRefused,
  BankUnavailable,
  correctionPlace,
  type TransferInstruction,
} from '../../bank-connection.js';
import { fileArchive } from '../../connections/file-archive.js';
import { ackBytes, failingTransport } from '../../testing/ach-desk.js';
import { type AchWorld, openAchWorld } from '../../testing/ach-world.js';
import { instructionEnding } from '../../testing/transfer-instructions.js';

let world: AchWorld;
beforeEach(async () => {
  world = await openAchWorld();
});
afterEach(() => world.close());

/** What the feed says after the confirmations. */
const said = async () =>
  (await world.feed()).filter(({ type }) => type !== 'confirmed' && type !== 'held');
const inboundKinds = async () => {
  const { rows } = await world.pool.query<{ kind: string }>(
    "SELECT kind FROM rail_files WHERE way = 'in' ORDER BY place",
  );
  return rows.map(({ kind }) => kind);
};
describe('a return', () => {
  it('of an entry that was never acknowledged proves that the bank took it', async () => {
    const instruction = await world.unacknowledged();
    await world.desk.answer();
    const ack = [...world.desk.inbox.keys()][0] ?? '';
    world.desk.inbox.delete(ack);
    await world.desk.postReturns([await world.traceOf(instruction)], 'R02');
    await world.bank.rounds.inbound();
    expect(await world.feed()).toMatchObject([
      { type: 'returned', reference: instruction.reference, returnReasonCode: 'R02' },
    ]);
    expect(await world.bank.inquire(instruction.reference)).toEqual({ outcome: 'accepted' });
    const { name, sha256 } = world.desk.upload();
    world.desk.postAck({ name, sha256 });
    await world.settle();
    expect(await world.feed()).toHaveLength(1);
  });

  it.each(['R01', 'R61', 'R71', 'R85', null])('with %s is told with its code', async (reason) => {
    const instruction = await world.submit('4321');
    await world.settle();
    await world.desk.postReturns([await world.traceOf(instruction)], reason);
    await world.settle();
    // The trace number of the return, not that of the entry which comes back.
    const returnReference = expect.not.stringMatching(await world.traceOf(instruction));
    expect(await said()).toMatchObject([
      { type: 'returned', returnReasonCode: reason, returnReference },
    ]);
    const [report] = await said();
    expect(report?.returnReference).toMatch(/^\d{15}$/);
  });

  it('that comes twice is told once, under another name and in another file, too', async () => {
    const instruction = await world.submit('4321');
    await world.settle();
    const bytes = await world.desk.postReturns([await world.traceOf(instruction)], 'R01');
    world.desk.post('again.ach', bytes);
    await world.settle();
    await world.desk.postAgain(bytes);
    await world.settle();
    expect(await said()).toMatchObject([{ reference: instruction.reference }]);
  });

  it.each(['R01', 'R10', null])('after another one, with %s, is shown to staff', async (reason) => {
    const instruction = await world.submit('4321');
    await world.settle();
    const trace = await world.traceOf(instruction);
    await world.desk.postReturns([trace], 'R01');
    await world.settle();
    const second = await world.desk.postReturns([trace], reason);
    await world.settle();
    await world.desk.postAgain(second);
    await world.settle();
    const [first, other, ...more] = await said();
    expect(first).toMatchObject({ reference: instruction.reference });
    // Its own trace number tells staff which one it is.
    expect(other).toMatchObject({
      ...{ type: 'returned', reference: `ACH trace ${trace}`, returnReasonCode: reason },
      returnReference: expect.stringMatching(/^\d{15}$/),
    });
    expect(other?.returnReference).not.toBe(first?.returnReference);
    expect(more).toEqual([]);
  });

  it('after another one in the same file is shown to staff', async () => {
    const instruction = await world.submit('4321');
    await world.settle();
    const trace = await world.traceOf(instruction);
    await world.desk.postReturns([trace, trace], 'R01');
    await world.settle();
    expect(await said()).toMatchObject([
      { reference: instruction.reference },
      { reference: `ACH trace ${trace}` },
    ]);
  });

  it('after one that an earlier release recorded is shown to staff', async () => {
    const instruction = await world.submit('4321');
    await world.settle();
    const trace = await world.traceOf(instruction);
    await world.desk.postReturns([trace], 'R01');
    await world.settle();
    await world.pool.query("UPDATE ach_entries SET returns_told = '{}'");
    await world.desk.postReturns([trace], 'R01');
    await world.settle();
    expect(await said()).toMatchObject([
      { reference: instruction.reference },
      { reference: `ACH trace ${trace}` },
    ]);
  });

  it('of another entry that had the same trace number is shown to staff only', async () => {
    const instruction = await world.submit('4321');
    await world.settle();
    await world.pool.query("UPDATE ach_entries SET individual_id = 'ANOTHER'");
    const trace = await world.traceOf(instruction);
    await world.desk.postReturns([trace], 'R01');
    await world.settle();
    expect(await said()).toMatchObject([{ reference: `ACH trace ${trace}` }]);
  });

  it('with another amount, or of an entry that is not ours, is shown to staff only', async () => {
    const instruction = await world.submit('4321');
    await world.settle();
    const trace = await world.traceOf(instruction);
    await world.pool.query('UPDATE ach_entries SET amount_minor = amount_minor + 1');
    await world.desk.postReturns([trace], 'R01');
    await world.settle();
    await world.pool.query("UPDATE ach_entries SET trace_number = '021000027777777'");
    await world.desk.postReturns([trace], 'R02');
    await world.settle();
    expect((await said()).map(({ reference }) => reference)).toEqual([
      `ACH trace ${trace}`,
      `ACH trace ${trace}`,
    ]);
    expect(await world.bank.inquire(instruction.reference)).toEqual({ outcome: 'accepted' });
  });

  it('of five hundred entries in one file is told entry by entry', async () => {
    const instructions = Array.from({ length: 500 }, () => instructionEnding('9003'));
    await Promise.all(instructions.map((instruction) => world.bank.submit(instruction)));
    await world.settle();
    expect(new Set((await said()).map(({ reference }) => reference)).size).toBe(500);
    expect((await said()).every((one) => one.returnReasonCode === 'R03')).toBe(true);
  });

  it('is archived with its payment, and erased with its contact', async () => {
    const instruction = await world.submit('0101');
    await world.settle();
    const archive = fileArchive(world);
    const files = await archive.list({ paymentId: instruction.paymentId, max: 10 });
    expect(files.map(({ way, kind }) => `${way} ${kind}`).sort()).toEqual([
      'in ack',
      'in nacha',
      'out nacha',
    ]);
    const shown = async (wanted: 'in' | 'out') =>
      String((await archive.read(files.find(({ way }) => way === wanted)?.id ?? ''))?.bytes);
    for (const way of ['in', 'out'] as const) expect(await shown(way)).toContain('776655440101');
    await world.keyring.destroy([ownerOf.contact(instruction.contactId)]);
    expect(await shown('in')).not.toContain('776655440101');
    expect(await shown('in')).toContain('THE BANK');
    // It was about nobody else.
    expect((await shown('out')).trim()).toBe('');
  });

  it('of a contact that was erased since is still told', async () => {
    const instruction = await world.submit('4321');
    await world.settle();
    await world.keyring.destroy([ownerOf.contact(instruction.contactId)]);
    await world.desk.postReturns([await world.traceOf(instruction)], 'R01');
    await world.settle();
    expect(await said()).toMatchObject([{ type: 'returned', reference: instruction.reference }]);
  });
});

describe('a notification of change', () => {
  async function postCorrection(instruction: TransferInstruction): Promise<void> {
    const trace = await world.traceOf(instruction);
    await world.desk.postCorrection(trace, 'C01', { accountNumber: '1918171614' });
    await world.settle();
  }

  it('is told once, in however many files the bank repeats it, and again when it says something else', async () => {
    const instruction = await world.submit('4321');
    await world.settle();
    const trace = await world.traceOf(instruction);
    const numbers = ['1918171614', '1918171614', '2827262524', '2827262524', '1918171614'];
    for (const accountNumber of numbers) {
      await world.desk.postCorrection(trace, 'C01', { accountNumber });
      await world.desk.postCorrection(trace, 'C05', { transactionCode: '32' });
      await world.settle();
    }
    const told = (await world.feed()).filter(({ type }) => type === 'corrected');
    const owner = ownerOf.contact(instruction.contactId);
    const place = correctionPlace('test-ach', instruction.reference);
    const texts = await Promise.all(
      told.map(({ correction }) => world.keyring.open(correction?.corrected ?? '', owner, place)),
    );
    expect(texts.map((text) => JSON.parse(text) as unknown)).toEqual([
      { achAccountNumber: '1918171614' },
      { subType: 'SAVINGS' },
      { achAccountNumber: '2827262524' },
      { achAccountNumber: '1918171614' },
    ]);
  });

  it('is told although the record of an earlier one was altered', async () => {
    const instruction = await world.submit('4321');
    await world.settle();
    await postCorrection(instruction);
    await world.pool.query("UPDATE ach_feed SET corrected = 'altered' WHERE corrected IS NOT NULL");
    await postCorrection(instruction);
    expect((await said()).map(({ type }) => type)).toEqual(['corrected', 'corrected']);
  });

  it('is told with the right data sealed under the contact, and changes nothing', async () => {
    const instruction = await world.submit('4321');
    await world.settle();
    await postCorrection(instruction);
    const [told] = await said();
    expect(told).toMatchObject({ type: 'corrected', correction: { changeCode: 'C01' } });
    const sealed = told?.correction?.corrected ?? '';
    const owner = ownerOf.contact(instruction.contactId);
    const place = correctionPlace('test-ach', instruction.reference);
    expect(JSON.parse(await world.keyring.open(sealed, owner, place))).toEqual({
      achAccountNumber: '1918171614',
    });
    await expect(
      world.keyring.open(sealed, owner, correctionPlace('test-ach', 'other')),
    ).rejects.toBeInstanceOf(CannotOpen);
    const { rows } = await world.pool.query('SELECT * FROM ach_feed');
    expect(JSON.stringify(rows)).not.toContain('1918171614');
  });

  it('about a contact that was erased since keeps nothing of it', async () => {
    const instruction = await world.submit('4321');
    await world.settle();
    await world.keyring.destroy([ownerOf.contact(instruction.contactId)]);
    await postCorrection(instruction);
    expect(await said()).toMatchObject([{ type: 'corrected', correction: null }]);
  });
});

describe('an inbound file', () => {
  it('that is torn is read again until it is whole', async () => {
    const bank = world.open({ limits: { unreadableGraceMs: 3_600_000 } });
    const instruction = await world.submit('4321');
    await world.settle();
    const bytes = await world.desk.postReturns([await world.traceOf(instruction)], 'R01', 'r.ach');
    for (const length of [0, 40, 94, 500]) {
      world.desk.post('r.ach', bytes.subarray(0, length));
      await bank.rounds.inbound();
      await bank.rounds.inbound();
      expect(world.desk.inbox.size).toBe(1);
    }
    expect(await said()).toEqual([]);
    world.desk.post('r.ach', bytes);
    await bank.rounds.inbound();
    expect(world.desk.inbox.size).toBe(0);
    expect(await said()).toMatchObject([{ type: 'returned', reference: instruction.reference }]);
  });

  it('that could not be applied is applied when the same bytes come again', async () => {
    const instruction = await world.submit('4321');
    await world.settle();
    const column = (from: string, to: string) =>
      world.pool.query(`ALTER TABLE ach_entries RENAME COLUMN ${from} TO ${to}`);
    await column('return_reason_code', 'missing');
    const bytes = await world.desk.postReturns([await world.traceOf(instruction)], 'R01');
    const takeIn = async (name: string) => {
      world.desk.post(name, bytes);
      await world.bank.rounds.inbound();
    };
    await takeIn('again.ach');
    expect(await inboundKinds()).toEqual(['ack', 'unreadable']);
    await column('missing', 'return_reason_code');
    const archive = fileArchive(world);
    const { paymentId } = instruction;
    const listed = async () =>
      (await archive.list({ paymentId, max: 10 })).map(({ way, kind }) => `${way} ${kind}`);
    expect(await listed()).toEqual(['in ack', 'out nacha']);
    for (const name of ['later.ach', 'last.ach']) {
      await takeIn(name);
      expect(await said()).toMatchObject([
        { type: 'unreadable' },
        { type: 'returned', reference: instruction.reference },
      ]);
      expect(await inboundKinds()).toEqual(['ack', 'nacha']);
    }
    // It is now found by its payment, and sealed under its contact.
    expect(await archive.list({ paymentId, max: 10 })).toMatchObject([
      { way: 'in', name: 'later.ach' },
      { way: 'in', kind: 'ack' },
      { way: 'out' },
    ]);
  });

  it.each([
    ['nothing', ''],
    ['no known kind', 'hello\n'],
    ['a NACHA file that ends early', '101 021000021'],
    ['an acknowledgement with another content', '{"type":"file","name":1}\n'],
    ['control characters', '101\0\x1b[2J\n'],
    ['our own inquiry', '{"type":"inquiry","at":"2026-11-24T15:00:00.000Z"}\n'],
  ])('that has %s is kept, shown to staff, and holds up no other', async (_what, text) => {
    const instruction = await world.unacknowledged();
    const { name, sha256 } = world.desk.upload();
    world.desk.post('0-first.txt', Buffer.from(text));
    world.desk.postAck({ name, sha256 });
    await world.settle();
    expect(await world.feed()).toMatchObject([
      { type: 'unreadable', reference: 'ACH file 0-first.txt' },
      { type: 'confirmed', reference: instruction.reference },
    ]);
    expect(world.desk.inbox.size).toBe(0);
    expect(await inboundKinds()).toEqual(['unreadable', 'ack']);
  });

  it('with our own payments in it moves nothing', async () => {
    const instruction = await world.unacknowledged();
    world.desk.post('echo.ach', world.desk.upload().bytes);
    await world.bank.rounds.inbound();
    expect(await world.feed()).toMatchObject([
      { type: 'unreadable', reference: 'ACH file echo.ach' },
    ]);
    expect(await world.bank.inquire(instruction.reference)).toEqual({ outcome: 'received' });
  });

  it('has its effect once, also when two processes read it', async () => {
    const instructions = Array.from({ length: 50 }, () => instructionEnding('0101'));
    world.desk.answersAtOnce = false;
    await Promise.all(instructions.map((instruction) => world.bank.submit(instruction)));
    await world.bank.rounds.outbound();
    await world.desk.answer();
    const others = [world.open(), world.open(), world.bank];
    await Promise.all(others.map((one) => one.rounds.inbound()));
    expect(await world.feed()).toHaveLength(100);
    expect(await said()).toHaveLength(50);
  });

  it('that another process takes away between list and get is no failure', async () => {
    const instruction = await world.unacknowledged();
    const { name, sha256 } = world.desk.upload();
    world.desk.postAck({ name, sha256 });
    world.desk.post('0-taken.ach', Buffer.from('101'));
    const transport = world.desk.transport();
    const racing = {
      ...transport,
      get: (file: string) => {
        world.desk.inbox.delete('0-taken.ach');
        return transport.get(file);
      },
    };
    await world.open({ transport: racing }).rounds.inbound();
    expect(await world.feed()).toMatchObject([{ reference: instruction.reference }]);
  });

  it('that is too large stays in the inbox and holds up no other', async () => {
    const instruction = await world.unacknowledged();
    const { name, sha256 } = world.desk.upload();
    world.desk.post('0-large.ach', Buffer.from('101'));
    world.desk.postAck({ name, sha256 });
    const transport = world.desk.transport();
    const refusing = {
      ...transport,
      get: (file: string) =>
        file === '0-large.ach'
          ? Promise.reject(new BankRefused('it is too large'))
          : transport.get(file),
    };
    await world.open({ transport: refusing }).rounds.inbound();
    expect(await world.feed()).toMatchObject([{ reference: instruction.reference }]);
    expect([...world.desk.inbox.keys()]).toEqual(['0-large.ach']);
  });

  it('stays in the inbox while the bank or the connection fails', async () => {
    const instruction = await world.unacknowledged();
    const { name, sha256 } = world.desk.upload();
    world.desk.post('ack.jsonl', ackBytes({ name, sha256 }));
    for (const failing of ['list', 'get', 'remove'] as const) {
      const transport = failingTransport(
        world.desk.transport(),
        (call, moment) => call === failing && moment === 'before',
      );
      const round = world.open({ transport }).rounds.inbound();
      await expect(round).rejects.toBeInstanceOf(BankUnavailable);
      expect(world.desk.inbox.size).toBe(1);
    }
    await world.settle();
    expect(await world.feed()).toMatchObject([{ reference: instruction.reference }]);
    expect(await world.feed()).toHaveLength(1);
  });
});
