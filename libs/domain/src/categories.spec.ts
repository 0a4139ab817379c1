import * as domain from './index.js';
import {
  type Aggregate,
  categories,
  type Category,
  streamNameOf,
  streamPrefixOf,
} from './index.js';

const aggregates = Object.values(domain).filter(
  (value): value is (typeof domain)['payment'] =>
    typeof value === 'object' && 'category' in value && 'decide' in value,
);

it('each category belongs to one aggregate', () => {
  const used = aggregates.map(({ category }) => category);
  expect(used.toSorted()).toEqual([...categories]);
});

it('a stream name has a category and an id, which may contain hyphens', () => {
  for (const category of categories) {
    expect(streamNameOf(`${streamPrefixOf(category)}a-b-c`)).toEqual({ category, id: 'a-b-c' });
    expect(category).not.toContain('-');
  }
});

it('a stream of another system has no name here', () => {
  for (const name of ['', 'payment', 'payments-1', '-payment-1', 'Payment-1', 'toString-1'])
    expect({ name, parts: streamNameOf(name) }).toEqual({ name, parts: null });
});

it('an aggregate with an unknown category does not compile', () => {
  type New = Aggregate<null, never, never, never>;
  // @ts-expect-error `categories` has no such category.
  const category: New['category'] = 'invoice';
  const known: Category = 'payment';
  expect([category, known satisfies New['category']]).toEqual(['invoice', 'payment']);
});
