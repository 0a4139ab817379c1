import 'reflect-metadata';
import { Controller, Injectable, Module, Scope } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Ctx, EventPattern, Payload } from '@nestjs/microservices';
import { until } from '@pis/local-servers/testing';
import { defer, of, throwError, type Observable } from 'rxjs';
import { EmbeddedConsumerStrategy } from './embedded.server.js';
import { NonRetryable } from './errors.js';
import { MessageContext } from './message-context.js';
import { consumerGroup, type Message, onlyWith } from './message.js';
import { MemoryLog, memoryConsumerState, memoryDeferredMessages } from './testing/memory.js';

const timeoutMs = 20_000;
const seen: string[] = [];
const note = (who: string, context: MessageContext) => {
  const { key, attempt } = context.getDelivery();
  seen.push(`${who} ${key} ${attempt}`);
  return { key, attempt };
};
const away = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });

@Controller()
class Plain {
  @EventPattern<string>('orders', consumerGroup('nest'))
  async handle(@Payload() value: unknown, @Ctx() context: MessageContext): Promise<void> {
    const { key, attempt } = note('plain', context);
    if (key === 'unreadable') throw new NonRetryable(`no ${JSON.stringify(value)}`);
    if (key === 'away' && attempt <= 3) throw away();
    if (key === 'broken') throw new Error('broken');
    return Promise.resolve();
  }
}

@Controller()
class Streaming {
  @EventPattern<string>('orders', consumerGroup('nest'))
  handle(@Ctx() context: MessageContext): Observable<number> {
    return defer(() => {
      const { key, attempt } = note('streaming', context);
      return key === 'stream' && attempt === 1 ? throwError(away) : of(1, 2);
    });
  }
}

@Injectable({ scope: Scope.REQUEST })
class PerMessage {}

@Controller()
class Scoped {
  constructor(private readonly service: PerMessage) {}

  @EventPattern<string>('parcels', consumerGroup('nest'))
  handle(@Ctx() context: MessageContext): void {
    if (!(this.service instanceof PerMessage)) throw new Error('not injected');
    const { key } = note('scoped', context);
    if (key === 'unreadable') throw new NonRetryable('no');
  }
}

@Controller()
class Elsewhere {
  @EventPattern<string>('orders', consumerGroup('another group'))
  handle(@Ctx() context: MessageContext): void {
    note('elsewhere', context);
  }
}

@Controller()
class Choosy {
  @EventPattern<string>('letters', consumerGroup('nest'), onlyWith({ kind: 'registered' }))
  handle(@Payload() value: unknown, @Ctx() context: MessageContext): void {
    note(`choosy ${JSON.stringify(value)}`, context);
  }
}

@Module({ controllers: [Plain, Streaming, Scoped, Elsewhere, Choosy], providers: [PerMessage] })
class OrdersModule {}

describe('a Nest controller', () => {
  const log = new MemoryLog();
  const state = memoryConsumerState();
  const strategy = new EmbeddedConsumerStrategy({
    group: 'nest',
    source: log,
    state,
    deferred: memoryDeferredMessages(),
    attemptsMax: 2,
    backoffInitialMs: 1,
  });
  let close: () => Promise<void>;

  beforeAll(async () => {
    const app = await NestFactory.createMicroservice(OrdersModule, { strategy, logger: false });
    await app.listen();
    close = () => app.close();
  });
  afterAll(() => close());
  beforeEach(() => seen.splice(0));

  const send = async (
    topic: string,
    key: string,
    { value = '{"a":1}', headers = {} }: Partial<Pick<Message, 'value' | 'headers'>> = {},
  ) => {
    await log.publish([{ topic, key, value, headers }]);
    const last = log.offsetsOf(topic).at(-1) ?? '';
    await until(async () => (await state.loadCheckpoint('nest')) >= last, { timeoutMs });
  };
  const parked = async (key: string) =>
    (await state.parked('nest', 100))
      .filter(({ delivery }) => delivery.key === key)
      .map(({ error }) => error);

  it('receives the messages of its own group, in addition to the other handlers of the topic', async () => {
    await send('orders', 'fine');
    expect(seen.sort()).toEqual(['plain fine 1', 'streaming fine 1']);
  });

  it('parks a message at once by throwing NonRetryable, and the reason is kept', async () => {
    await send('orders', 'unreadable');
    expect(await parked('unreadable')).toEqual(['NonRetryable: no {"a":1}']);
    expect(seen.filter((line) => line.startsWith('plain'))).toEqual(['plain unreadable 1']);
  });

  it('is called again as long as a dependency is unavailable', async () => {
    await send('orders', 'away');
    expect(seen.filter((line) => line.startsWith('plain'))).toHaveLength(4);
    expect(await parked('away')).toEqual([]);
  });

  it('gives up on a message by failing until the last attempt', async () => {
    await send('orders', 'broken');
    expect(seen.filter((line) => line.startsWith('plain'))).toEqual([
      'plain broken 1',
      'plain broken 2',
    ]);
    expect(await parked('broken')).toEqual(['Error: broken']);
  });

  it('may answer with an Observable, whose error counts like a thrown one', async () => {
    await send('orders', 'stream');
    expect(seen.filter((line) => line.startsWith('streaming'))).toEqual([
      'streaming stream 1',
      'streaming stream 2',
    ]);
    expect(await parked('stream')).toEqual([]);
  });

  it('may leave out messages that have a header with another value', async () => {
    await send('letters', 'other', { headers: { kind: 'plain' }, value: 'not read' });
    await send('letters', 'wanted', { headers: { kind: 'registered', more: 'x' } });
    await send('letters', 'unnamed');
    expect(seen).toEqual(['choosy {"a":1} wanted 1', 'choosy {"a":1} unnamed 1']);
    expect(await parked('other')).toEqual([]);
  });

  it('may be created anew for each message', async () => {
    await send('parcels', 'fine');
    await send('parcels', 'unreadable');
    expect(seen).toEqual(['scoped fine 1', 'scoped unreadable 1']);
    expect(await parked('unreadable')).toContain('NonRetryable: no');
  });
});
