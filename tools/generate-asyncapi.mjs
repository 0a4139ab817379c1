/**
 * Writes docs/asyncapi.json and docs/events/NAME.schema.json. A part of `npm run generate`, so that
 * `npm run check` fails when the committed files are out of date. Refuses to write when a published event changed
 * in a way that breaks its readers: publish such an event on a topic of the next version instead.
 * `--check` writes nothing, `--events FOLDER` compares with other schemas.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { format, resolveConfig } from 'prettier';
import { breakingChanges } from './event-compatibility.mjs';
import { continueOnSupportedNode, prepare, root } from './workspace.mjs';

const ending = '.schema.json';
const { values: given } = parseArgs({
  options: { events: { type: 'string' }, check: { type: 'boolean', default: false } },
});
const folder = given.events ?? join(root, 'docs', 'events');

await prepare(['libs/contracts']);
await continueOnSupportedNode();
const { asyncApiDocument, jsonSchemaOf, publishedEvents } = await import('@pis/contracts');
const schemas = new Map(publishedEvents.map((event) => [event.name, jsonSchemaOf(event)]));
const committed = committedSchemas();
const problems = [...new Set([...committed.keys(), ...schemas.keys()])].flatMap((name) =>
  breakingChanges(name, committed.get(name) ?? null, schemas.get(name) ?? null),
);
if (problems.length > 0) {
  console.error(
    `This breaks readers of published events. Keep the fields, or publish on a new topic:\n${problems.join('\n')}`,
  );
  process.exit(1);
}
if (!given.check) {
  mkdirSync(folder, { recursive: true });
  for (const [name, schema] of schemas) await write(join(folder, `${name}${ending}`), schema);
  await write(join(root, 'docs', 'asyncapi.json'), asyncApiDocument());
}

function committedSchemas() {
  if (!existsSync(folder)) return new Map();
  const files = readdirSync(folder).filter((file) => file.endsWith(ending));
  return new Map(
    files.map((file) => [
      file.slice(0, -ending.length),
      JSON.parse(readFileSync(join(folder, file), 'utf8')),
    ]),
  );
}

/** An unchanged file is not written, so that file watchers do not react. */
async function write(file, content) {
  const options = await resolveConfig(file);
  const text = await format(JSON.stringify(content), { ...options, parser: 'json' });
  if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileSync(file, text);
}
