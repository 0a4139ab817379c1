/**
 * Writes docs/openapi.json, the document that a sandbox serves at /openapi.json. A part of
 * `npm run generate`, so that `npm run check` fails when the committed file is out of date.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { continueOnSupportedNode, prepare, root } from './workspace.mjs';

const file = join(root, 'docs', 'openapi.json');

await prepare(['libs/contracts']);
await continueOnSupportedNode();
const { openApiDocument } = await import('@pis/contracts');
const text = JSON.stringify(openApiDocument({ sandbox: true }));
const options = await resolveConfig(file);
const formatted = await format(text, { ...options, parser: 'json' });
// An unchanged file is not written, so that file watchers do not react.
if (!isCurrent(formatted)) writeFileSync(file, formatted);

function isCurrent(content) {
  try {
    return readFileSync(file, 'utf8') === content;
  } catch (error) {
    if (error.code === 'ENOENT') return false;
    throw error;
  }
}
