import {
  type BankConnection,
  type BankNotification,
  BankRefused,
  feedBeginning,
  type RailRejection,
  type SubmissionResult,
  type TransferInstruction,
} from '../bank-connection.js';
import { instructionEnding } from './transfer-instructions.js';

export interface BankUnderTest {
  /** A connection to a separate bank without delay and with an empty feed. */
  readonly connection: BankConnection;
  /**
   * Resolves when the bank has dealt with everything that was submitted or asked. Absent where its first answer
   * is final.
   */
  settled?(): Promise<void>;
  close(): Promise<void>;
}

/**
 * What every adapter of the port to the bank must do, tested with the simulated bank without delay. A bank may
 * answer 'pending' first, and confirm or reject through its feed.
 */
export function bankConnectionConformance(name: string, open: () => Promise<BankUnderTest>): void {
  describe(`the connection to the bank, ${name}`, () => {
    let bank: BankUnderTest;
    beforeEach(async () => {
      bank = await open();
    });
    afterEach(() => bank.close());

    submissionConformance(() => bank);
    voidConformance(() => bank);
    feedConformance(() => bank);
  });
}

const rejection = {
  failureCode: expect.any(String) as RailRejection['failureCode'],
  message: expect.any(String) as string,
  reason: expect.any(String) as string,
};
/** Definitely not executed, with a reason that can be shown. */
const error = {
  outcome: 'error',
  rejection: expect.objectContaining(rejection) as RailRejection,
} as const;

function submissionConformance(bank: () => BankUnderTest): void {
  const connection = () => bank().connection;

  it.each([
    ['4321', { outcome: 'accepted' }],
    ['0101', { outcome: 'accepted' }],
    ['0401', { outcome: 'pending', confirmationExpected: true }],
    ['0402', { outcome: 'pending', confirmationExpected: true }],
    ['0502', { outcome: 'pending', confirmationExpected: false }],
    ['0204', error],
  ])('gives the same answer to every submission of %s', async (ending, expected) => {
    const instruction = instructionEnding(ending);
    const answers = [
      await submitted(bank(), instruction),
      await connection().submit(instruction),
      ...(await Promise.all([1, 2, 3].map(() => connection().submit(instruction)))),
    ];
    for (const answer of answers) expect(answer).toEqual(expected);
  });

  it('has a record of what was submitted, and of nothing else, if it keeps records', async () => {
    const [submittedOne, other] = [instructionEnding('4321'), instructionEnding('4321')];
    expect((await connection().recordOf?.(submittedOne.reference)) ?? null).toBeNull();
    await connection().submit(submittedOne);
    const { amountMinor } = submittedOne;
    const { recordOf = () => Promise.resolve({ amountMinor }) } = connection();
    expect(await recordOf(submittedOne.reference)).toMatchObject({ amountMinor });
    expect((await connection().recordOf?.(other.reference)) ?? null).toBeNull();
  });

  it('knows a transfer again by its amount and accounts, if it keeps records', async () => {
    const instruction = instructionEnding('4321');
    const isSame = async (changes: Partial<TransferInstruction>) =>
      connection().isSame?.({ ...instruction, ...changes });
    expect((await isSame({})) ?? null).toBeNull();
    await submitted(bank(), instruction);
    expect((await isSame({})) ?? true).toBe(true);
    // Of a contact that was lost and created again.
    expect((await isSame({ contactId: instruction.originatorId })) ?? true).toBe(true);
    expect((await isSame({ amountMinor: instruction.amountMinor + 1 })) ?? false).toBe(false);
    const contactAccount = { ...instruction.contactAccount, achAccountNumber: '77770001' };
    expect((await isSame({ contactAccount })) ?? false).toBe(false);
  });

  it('refuses a reference that comes with another amount', async () => {
    const instruction = instructionEnding('4321');
    await connection().submit(instruction);
    const changed = { ...instruction, amountMinor: instruction.amountMinor + 1 };
    await expect(connection().submit(changed)).rejects.toBeInstanceOf(BankRefused);
  });

  it('refuses an instruction it cannot read, and does not repeat account numbers', async () => {
    const instruction = instructionEnding('4321', { amountMinor: -5 });
    const refusal = await connection()
      .submit(instruction)
      .catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(BankRefused);
    expect(String(refusal)).not.toContain(instruction.contactAccount.achAccountNumber);
  });

  it.each([
    ['4321', { outcome: 'accepted' }],
    ['0401', { outcome: 'received' }],
    ['0502', { outcome: 'received' }],
    ['0204', error],
  ])('answers an inquiry about a submitted transfer of %s with %j', async (ending, expected) => {
    const instruction = instructionEnding(ending);
    await submitted(bank(), instruction);
    expect(await connection().inquire(instruction.reference)).toMatchObject(expected);
  });

  it('can say which amount an accepted transfer has', async () => {
    const instruction = instructionEnding('4321');
    const { reference, amountMinor } = instruction;
    await submitted(bank(), instruction);
    const answer = await connection().inquire(reference);
    const named = answer.outcome === 'accepted' ? answer.sentAmountMinor : null;
    const recorded = await connection().recordOf?.(reference);
    expect(named ?? recorded?.amountMinor).toBe(amountMinor);
  });

  it('confirms a late transfer after an inquiry, once', async () => {
    const instruction = instructionEnding('0402');
    await submitted(bank(), instruction);
    expect(await readAll(connection())).toEqual([]);
    expect(await connection().inquire(instruction.reference)).toEqual({ outcome: 'received' });
    expect(await connection().inquire(instruction.reference)).toEqual({ outcome: 'received' });
    await bank().settled?.();
    expect(await readAll(connection())).toMatchObject([
      { type: 'confirmed', reference: instruction.reference },
    ]);
    expect(await connection().submit(instruction)).toEqual({ outcome: 'accepted' });
  });
}

function voidConformance(bank: () => BankUnderTest): void {
  const connection = () => bank().connection;

  it('never executes a voided reference, however often it is submitted afterwards', async () => {
    const instruction = instructionEnding('0101');
    const { reference } = instruction;
    expect(await connection().void(reference)).toMatchObject({ outcome: 'voided' });
    expect(await connection().void(reference)).toMatchObject({ outcome: 'voided' });
    for (let times = 0; times < 2; times += 1)
      expect(await connection().submit(instruction)).toEqual(error);
    expect(await connection().inquire(reference)).toMatchObject(error);
    expect(await readAll(connection())).toEqual([]);
  });

  it.each(['4321', '0401', '0502'])('does not void what it has taken (%s)', async (ending) => {
    const instruction = instructionEnding(ending);
    const answer = await submitted(bank(), instruction);
    expect(await connection().void(instruction.reference)).toEqual({ outcome: 'received' });
    expect(await connection().submit(instruction)).toEqual(answer);
  });

  it('lets either the void or the submission win when both come at once', async () => {
    const instructions = Array.from({ length: 30 }, () => instructionEnding('4321'));
    await Promise.all(
      instructions.map(async (instruction) => {
        const [answer, voided] = await Promise.all([
          submitted(bank(), instruction),
          connection().void(instruction.reference),
        ]);
        const executed = voided.outcome === 'received';
        expect(answer).toEqual(executed ? { outcome: 'accepted' } : error);
      }),
    );
  });
}

function feedConformance(bank: () => BankUnderTest): void {
  const connection = () => bank().connection;

  it('reports a return with its code and its own reference, once, however often the transfer is submitted', async () => {
    const instruction = instructionEnding('9085');
    await Promise.all(Array.from({ length: 20 }, () => connection().submit(instruction)));
    await submitted(bank(), instructionEnding('4321'));
    const uncoded = instructionEnding('0199');
    await submitted(bank(), uncoded);
    const returns = returnsAmong(await readAll(connection()), bank());
    expect(returns).toMatchObject([
      { type: 'returned', reference: instruction.reference, returnReasonCode: 'R85' },
      { type: 'returned', reference: uncoded.reference, returnReasonCode: null },
    ]);
    // Under which each is in the books of the bank.
    const references = returns.map(({ returnReference }) => returnReference);
    expect(references).toEqual([expect.any(String), expect.any(String)]);
    expect(new Set(references).size).toBe(2);
  });

  it('names the amount of each transfer that it reports on', async () => {
    const instructions = [4_711, 815].map((amountMinor) =>
      instructionEnding('0101', { amountMinor }),
    );
    for (const instruction of instructions) await submitted(bank(), instruction);
    const reports = await readAll(connection());
    expect(reports.length).toBeGreaterThanOrEqual(instructions.length);
    const amounts = new Map(instructions.map((one) => [one.reference, one.amountMinor]));
    for (const { reference, sentAmountMinor } of reports)
      expect(sentAmountMinor).toBe(amounts.get(reference));
  });

  it('says that there is nothing new with the cursor it was asked with', async () => {
    const start = await connection().notifications({ after: feedBeginning, max: 10 });
    expect(start).toEqual({ notifications: [], cursor: feedBeginning });
    await submitted(bank(), instructionEnding('0101'));
    const { cursor } = await connection().notifications({ after: feedBeginning, max: 10 });
    const end = await connection().notifications({ after: cursor, max: 10 });
    expect(end).toEqual({ notifications: [], cursor });
  });

  it('goes on behind any notification, not only behind a page', async () => {
    for (const ending of ['0101', '0102', '0107'])
      await submitted(bank(), instructionEnding(ending));
    const all = await readAll(connection());
    const behindFirst = await connection().notifications({
      after: all[0]?.sequence ?? '',
      max: 10,
    });
    expect(behindFirst.notifications).toEqual(all.slice(1));
  });

  it('shows every return exactly once to a reader that follows while many arrive at once', async () => {
    const instructions = Array.from({ length: 150 }, () => instructionEnding('0101'));
    let writing = true;
    const finished = Promise.all(instructions.map((one) => submitted(bank(), one))).then(() => {
      writing = false;
    });
    const followed: BankNotification[] = [];
    let cursor = feedBeginning;
    for (let last = false; !last; ) {
      last = !writing;
      const page = await connection().notifications({ after: cursor, max: 7 });
      followed.push(...page.notifications);
      cursor = page.cursor;
      if (page.notifications.length > 0) last = false;
    }
    await finished;
    const returned = returnsAmong(followed, bank());
    expect(returned.map(({ reference }) => reference).sort()).toEqual(
      instructions.map(({ reference }) => reference).sort(),
    );
    expect(await readAll(connection())).toEqual(followed);
  });
}

/** Submits it and waits for what the bank makes of it. A bank that needs time says 'pending' first. */
async function submitted(
  bank: BankUnderTest,
  instruction: TransferInstruction,
): Promise<SubmissionResult> {
  const first = await bank.connection.submit(instruction);
  if (bank.settled === undefined) return first;
  await bank.settled();
  const final = await bank.connection.submit(instruction);
  expect([final.outcome, 'pending']).toContain(first.outcome);
  return final;
}

/** A bank that needs time confirms each transfer in its feed. */
function returnsAmong(
  notifications: readonly BankNotification[],
  { settled }: BankUnderTest,
): readonly BankNotification[] {
  return settled === undefined
    ? notifications
    : notifications.filter(({ type }) => type !== 'confirmed');
}

async function readAll(connection: BankConnection): Promise<BankNotification[]> {
  const all: BankNotification[] = [];
  let after = feedBeginning;
  for (;;) {
    const { notifications, cursor } = await connection.notifications({ after, max: 100 });
    if (notifications.length === 0) return all;
    all.push(...notifications);
    after = cursor;
  }
}
