import { readViews, viewsMax, withView, writeViews } from './saved-views.js';

function storage() {
  const values = new Map<string, string>();
  return {
    values,
    getItem: (key: string) => values.get(key) ?? null,
    setItem: (key: string, value: string) => void values.set(key, value),
  };
}

it('keeps views for each organization', () => {
  const kept = storage();
  const view = { name: 'Failed', search: { status: 'FAILED' } } as const;
  expect(writeViews(kept, 'one', [view])).toBe(true);
  expect(readViews(kept, 'one')).toEqual([view]);
  expect(readViews(kept, 'other')).toEqual([]);
});

it.each([
  ['no JSON', '{'],
  ['no list', '{"name":"x"}'],
  ['null', 'null'],
  ['items that are none', '[null, 1, {"name":""}, {"name":"x"}]'],
])('reads %s as no views', (_what, stored) => {
  const kept = storage();
  kept.setItem('pis.payment-views.one', stored);
  expect(readViews(kept, 'one')).toEqual([]);
});

it('drops filters that do not exist', () => {
  const kept = storage();
  kept.setItem('pis.payment-views.one', '[{"name":"x","search":{"status":"NOPE","limit":1}}]');
  expect(readViews(kept, 'one')).toEqual([{ name: 'x', search: {} }]);
});

it('replaces a view of the same name, and forgets the oldest beyond the limit', () => {
  const views = Array.from({ length: viewsMax }, (_, index) => ({ name: `${index}`, search: {} }));
  const replaced = withView(views, { name: '3', search: { status: 'FAILED' } });
  expect(replaced).toHaveLength(viewsMax);
  expect(replaced.at(-1)).toEqual({ name: '3', search: { status: 'FAILED' } });
  expect(withView(views, { name: 'new', search: {} })[0]?.name).toBe('1');
});

it('says if the browser keeps nothing', () => {
  const refusing = {
    getItem: (): string => {
      throw new Error('denied');
    },
    setItem: (): void => {
      throw new Error('full');
    },
  };
  expect(readViews(refusing, 'one')).toEqual([]);
  expect(writeViews(refusing, 'one', [])).toBe(false);
});
