import { spawnSync } from 'node:child_process';
import { breakingChanges } from './event-compatibility.mjs';

const committed = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'order-event',
  type: 'object',
  required: ['id', 'status', 'at', 'party'],
  properties: {
    id: { type: 'string', format: 'uuid' },
    status: { type: 'string', enum: ['OPEN', 'DONE'] },
    at: { type: ['string', 'null'] },
    note: { type: 'string' },
    tags: { type: 'array', items: { type: 'string' } },
    party: {
      anyOf: [
        { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
        { type: 'null' },
      ],
    },
  },
};
const changed = (change) => {
  const copy = structuredClone(committed);
  change(copy, copy.properties);
  return breakingChanges('order-event', committed, copy);
};

it('lets an event gain optional fields, values of an enum, and better words', () => {
  const problems = changed((schema, fields) => {
    schema.description = 'What happens to an order.';
    fields.status.enum.push('LOST');
    fields.note.description = 'For people.';
    fields.more = { type: 'integer' };
    fields.party.anyOf[0].properties.email = { type: 'string' };
  });
  expect(problems).toEqual([]);
});

it('lets an event be published for the first time', () => {
  expect(breakingChanges('order-event', null, committed)).toEqual([]);
});

it.each([
  ['a removed field', (_, fields) => delete fields.note, '.note: the field was removed'],
  [
    'a removed field of a part',
    (_, fields) => delete fields.party.anyOf[0].properties.name,
    '.party.name: the field was removed',
  ],
  [
    'a retyped field',
    (_, fields) => (fields.note.type = 'integer'),
    '.note: the type was string and is integer',
  ],
  [
    'a field that may be null now',
    (_, fields) => (fields.note.type = ['string', 'null']),
    '.note: the type was string and is null or string',
  ],
  [
    'retyped items of a list',
    (_, fields) => (fields.tags.items.type = 'integer'),
    '.tags[]: the type was string and is integer',
  ],
  [
    'a new required field',
    (schema, fields) => {
      fields.more = { type: 'string' };
      schema.required.push('more');
    },
    '.more: a new field must be optional',
  ],
  [
    'a field that becomes required',
    (schema) => schema.required.push('note'),
    '.note: the field is required now',
  ],
  [
    'a field that may be absent now',
    (schema) => schema.required.shift(),
    '.id: the field may be absent now',
  ],
  ['a narrowed enum', (_, fields) => fields.status.enum.pop(), '.status: the enum lost DONE'],
  [
    'an enum that becomes one value',
    (_, fields) => {
      delete fields.status.enum;
      fields.status.const = 'OPEN';
    },
    '.status: the enum lost DONE',
  ],
  [
    'an enum that becomes free',
    (_, fields) => delete fields.status.enum,
    '.status: any value is possible now',
  ],
  ['another format', (_, fields) => (fields.id.format = 'uri'), '.id: format changed'],
  ['a new pattern', (_, fields) => (fields.note.pattern = '^a'), '.note: pattern changed'],
  [
    'a lost alternative',
    (_, fields) => fields.party.anyOf.pop(),
    '.party: the alternatives changed',
  ],
])('refuses %s', (_what, change, problem) => {
  expect(changed(change)).toContain(`order-event${problem}`);
});

it('refuses to publish an event no longer', () => {
  expect(breakingChanges('order-event', committed, null)).toEqual([
    'order-event: the event is no longer published',
  ]);
});

it('stops the generation before it overwrites a schema with a breaking one', () => {
  const generator = new URL('./generate-asyncapi.mjs', import.meta.url).pathname;
  const folder = new URL('./fixtures/broken-events/', import.meta.url).pathname;
  const { status, stderr } = spawnSync(
    process.execPath,
    [generator, '--events', folder, '--check'],
    {
      encoding: 'utf8',
    },
  );
  expect(stderr).toContain('payment-event.promised: the field was removed');
  expect(stderr).toContain('retired-event: the event is no longer published');
  expect(status).toBe(1);
}, 60_000);
