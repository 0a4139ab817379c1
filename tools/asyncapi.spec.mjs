/** docs/asyncapi.json is a valid AsyncAPI 3 document, and names every topic with its events. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Parser } from '@asyncapi/parser';
import { topics } from '../libs/contracts/src/topics.js';
import { root } from './workspace.mjs';

const committed = readFileSync(join(root, 'docs/asyncapi.json'), 'utf8');
const errorsOf = async (text) => {
  const { document, diagnostics } = await new Parser().parse(text);
  const errors = diagnostics.filter(({ severity }) => severity === 0);
  return { document, errors: errors.map(({ message }) => message) };
};

it('is valid, and has every topic with its events', async () => {
  const { document, errors } = await errorsOf(committed);
  expect(errors).toEqual([]);
  const channels = document.channels().all();
  expect(channels.map((channel) => channel.address()).toSorted()).toEqual(
    Object.values(topics).toSorted(),
  );
  for (const channel of channels) expect(channel.messages().all()).not.toEqual([]);
});

it('the parser finds a reference that leads nowhere', async () => {
  const broken = committed.replaceAll('#/components/messages/payment-event', '#/components/none');
  expect((await errorsOf(broken)).errors).not.toEqual([]);
});
