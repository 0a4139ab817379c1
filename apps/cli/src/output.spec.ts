import { jest } from '@jest/globals';
import { printMoved } from './commands/consumers.js';
import { print, printItems, printList } from './output.js';

const hostile = 'a\r\u001b[2K\u009b31m\u202eb';

const printed = (result: unknown, json: boolean) => written(() => print(result, { json }));

function written(work: () => Promise<void>): Promise<string>;
function written(work: () => void): string;
function written(work: () => void | Promise<void>): string | Promise<string> {
  const write = jest.spyOn(process.stdout, 'write').mockImplementation(() => true);
  const all = () => {
    const text = write.mock.calls.map(([part]) => String(part)).join('');
    write.mockRestore();
    return text;
  };
  const ended = work();
  return ended instanceof Promise ? ended.then(all, all) : all();
}

it('shows control characters of strangers to a person, and no line that they forged', () => {
  const text = printed({ error: `${hostile}\nstate: delivered`, more: [hostile] }, false);
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(text).toContain('error: a\\u{d}\\u{1b}[2K');
  expect(text).not.toMatch(/^state: /m);
});

it('prints JSON that no terminal obeys and that parses to the same', () => {
  const line = printed({ error: `${hostile}\u{e0001}` }, true);
  expect(line.trimEnd()).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(JSON.parse(line)).toEqual({ error: `${hostile}\u{e0001}` });
});

it.each([[[]], [[{ id: 1 }]], [[{ id: 1, reasons: ['a', hostile] }, { id: 2 }, { id: 3 }]]])(
  'prints a long list item by item as it prints a short one: %j',
  async (items) => {
    for (const json of [true, false]) {
      const streamed = await written(() => printItems(each(items), { json }));
      expect(streamed).toBe(written(() => printList(items, { json })));
    }
  },
);

it('leaves the JSON of a list open when an item fails', async () => {
  const text = await written(() =>
    printItems(each([{ id: 1 }], new Error('away')), { json: true }),
  );
  expect(text).toBe('{"data":[{"id":1}');
});

it('says which counts of events ended at their limit', () => {
  const told = jest.spyOn(process.stderr, 'write').mockImplementation(() => true);
  const moved = (reader: string, eventsToRead: number) => ({
    reader,
    eventsToRead,
    from: '',
    to: '',
  });
  const text = written(() =>
    printMoved([moved('rail-executor', 99_999), moved('webhook-dispatcher', 100_000)], {
      json: true,
    }),
  );
  const stderr = told.mock.calls.map(([part]) => String(part)).join('');
  told.mockRestore();
  expect(JSON.parse(text)).toMatchObject({ moved: [{ eventsToRead: 99_999 }, {}] });
  expect(stderr).toBe(
    'pis: webhook-dispatcher: at least 100000 events: they were not counted further\n',
  );
});

async function* each(items: readonly unknown[], failure?: Error): AsyncGenerator<unknown> {
  for (const item of items) yield await Promise.resolve(item);
  if (failure !== undefined) throw failure;
}
