import { BankCircuit } from './bank-circuit.js';
import {
  BankAnswerUnclear,
  type BankConnection,
  BankRefused,
  BankUnavailable,
  simulatedBankTerms,
} from './bank-connection.js';

/** A bank of which only `inquire` is used, a clock set by hand, and the circuit between them. */
function circuitOver(changes: Partial<BankConnection> = {}) {
  const asked: string[] = [];
  const world = { answer: (): Promise<unknown> => Promise.resolve(), nowMs: 0, asked };
  const unused = () => Promise.reject(new Error('not used here'));
  const connection: BankConnection = {
    terms: simulatedBankTerms,
    submit: unused,
    void: unused,
    notifications: unused,
    inquire: async (reference) => {
      asked.push(reference);
      await world.answer();
      return { outcome: 'received' };
    },
    onNotification: () => () => undefined,
    close: () => Promise.resolve(),
    ...changes,
  };
  const options = { failuresMax: 3, pauseInitialMs: 100, pauseMaxMs: 400 };
  const circuit = new BankCircuit(connection, { ...options, clock: () => world.nowMs });
  const ask = (reference: string) =>
    circuit.bank.inquire(reference).then(
      () => 'answered',
      (error: Error) => error.name,
    );
  return { world, circuit, ask };
}

const away = () => Promise.reject(new BankUnavailable('no answer'));

describe('the circuit around a connection', () => {
  it('opens when different transfers fail in a row, and then sends nothing', async () => {
    const { world, circuit, ask } = circuitOver();
    world.answer = away;
    for (const reference of ['a', 'b', 'c']) expect(await ask(reference)).toBe('BankUnavailable');
    expect(circuit.state()).toBe('open');
    expect(await ask('d')).toBe('BankUnavailable');
    expect(world.asked).toEqual(['a', 'b', 'c']);
  });

  it('does not open for one transfer that the bank never answers', async () => {
    const { world, circuit, ask } = circuitOver();
    world.answer = away;
    for (let tries = 0; tries < 10; tries += 1) await ask('poisoned');
    expect(circuit.state()).toBe('closed');
    world.answer = () => Promise.resolve();
    expect(await ask('other')).toBe('answered');
  });

  it.each([
    ['an answer that cannot be read', new BankAnswerUnclear('<html>')],
    ['a refusal', new BankRefused('no')],
  ])('takes %s as a sign that the bank is there', async (_what, error) => {
    const { world, circuit, ask } = circuitOver();
    world.answer = () => Promise.reject(error);
    for (const reference of ['a', 'b', 'c', 'd']) expect(await ask(reference)).toBe(error.name);
    expect(circuit.state()).toBe('closed');
  });

  it('lets one probe through per pause, with pauses that double up to their limit', async () => {
    const { world, circuit, ask } = circuitOver();
    world.answer = away;
    for (const reference of ['a', 'b', 'c']) await ask(reference);
    for (const pauseMs of [100, 200, 400, 400]) {
      expect(circuit.probeInMs()).toBe(pauseMs);
      world.nowMs += pauseMs;
      expect(circuit.state()).toBe('probe');
      const before = world.asked.length;
      await Promise.all(['x', 'y', 'z'].map(ask));
      expect(world.asked.length).toBe(before + 1);
    }
    world.nowMs += 400;
    world.answer = () => Promise.resolve();
    expect(await ask('x')).toBe('answered');
    expect(circuit.state()).toBe('closed');
    expect(circuit.probeInMs()).toBe(0);
  });

  it('is not opened further by calls from before it opened', async () => {
    const { world, circuit, ask } = circuitOver();
    const held = Promise.withResolvers<void>();
    world.answer = () => held.promise.then(away);
    const early = Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(ask));
    held.resolve();
    await early;
    expect(circuit.probeInMs()).toBe(100);
  });
});

describe('whether the bank is there', () => {
  it('is asked by an inquiry, where the bank answers each of them', async () => {
    const { world, circuit } = circuitOver();
    await circuit.check('a');
    world.answer = away;
    await expect(circuit.check('b')).rejects.toBeInstanceOf(BankUnavailable);
    expect(world.asked).toEqual(['a', 'b']);
  });

  it('is asked by a ping, and the first transfer that fails after one opens the circuit again', async () => {
    let ping: () => Promise<void> = () => Promise.resolve();
    const { world, circuit, ask } = circuitOver({ ping: () => ping() });
    world.answer = away;
    for (const reference of ['a', 'b', 'c']) await ask(reference);
    world.nowMs += circuit.probeInMs();
    await circuit.check('d');
    expect(circuit.state()).toBe('closed');
    await ask('d');
    expect(circuit.state()).toBe('open');
    expect(circuit.probeInMs()).toBe(200);
    expect(world.asked).toEqual(['a', 'b', 'c', 'd']);
    world.nowMs += 200;
    ping = away;
    await expect(circuit.check('e')).rejects.toBeInstanceOf(BankUnavailable);
    world.nowMs += 400;
    ping = () => Promise.reject(new BankAnswerUnclear('<html>'));
    await circuit.check('e');
    expect(circuit.state()).toBe('closed');
  });
});
