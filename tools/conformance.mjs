/**
 * Writes docs/conformance.md: each rule of the specification with the tests that prove it. With
 * `--check` it only reports whether the page is up to date. Either way it fails if a rule has no test
 * and no reason to be open, or if a test or a table names a rule that is in no document.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { conformance, page, titlesIn } from './conformance-rules.mjs';
import { continueOnSupportedNode, root, say } from './workspace.mjs';

const target = join(root, 'docs', 'conformance.md');
const suite = join(root, 'tests', 'contract');
/** The documents that state rules, with their headings in the page. */
const titles = {
  'docs/specification.md': 'Specification',
  'docs/api-decisions.md': 'Decisions',
};

await continueOnSupportedNode();
process.exitCode = await main(process.argv.includes('--check'));

async function main(onlyCheck) {
  const proofs = await import('../tests/contract/rules/index.mjs');
  const tests = testsOfSuite();
  const documents = Object.keys(titles).map((file) => ({
    file,
    markdown: readFileSync(join(root, file), 'utf8'),
  }));
  const { rules, problems } = conformance(documents, proofs, tests, titlesOf);
  const linkTo = (file) => relative('docs', file).replaceAll('\\', '/');
  const formatted = await format(page({ rules, titles, linkTo }), {
    ...(await resolveConfig(target)),
    parser: 'markdown',
  });
  if (!existsSync(target) || readFileSync(target, 'utf8') !== formatted) {
    if (onlyCheck) problems.push('docs/conformance.md is out of date: node tools/conformance.mjs');
    else writeFileSync(target, formatted);
  }
  for (const problem of problems) say(problem);
  say(`${rules.length} rules, ${tests.length} contract tests, ${problems.length} problems`);
  return problems.length === 0 ? 0 : 1;
}

function testsOfSuite() {
  return readdirSync(suite, { recursive: true })
    .filter((name) => name.endsWith('.ts'))
    .sort()
    .map((name) => relative(root, join(suite, name)))
    .flatMap((file) => (titlesOf(file) ?? []).map((title) => ({ file, title })));
}

function titlesOf(file) {
  const path = join(root, file);
  return existsSync(path) ? titlesIn(readFileSync(path, 'utf8'), path) : null;
}
