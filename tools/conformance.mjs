/**
 * Writes docs/conformance.md: each rule of the specification with its test. With `--check` it only
 * looks whether the page is up to date. Either way it fails when a rule has no test, a test names no
 * rule, or the rules and the documents that they quote differ.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { conformance, page, quoteProblems, titlesIn } from './conformance-rules.mjs';
import { continueOnSupportedNode, root, say } from './workspace.mjs';

const target = join(root, 'docs', 'conformance.md');
const suite = join(root, 'tests', 'contract');
/** The documents are not part of the project; where they lie beside it, the quotes are compared. */
const documentsFolder = join(root, '..', 'shared');

await continueOnSupportedNode();
process.exitCode = await main(process.argv.includes('--check'));

async function main(onlyCheck) {
  const { parts } = await import('../tests/contract/rules/index.mjs');
  const tests = testsOfSuite();
  const { rules, problems } = conformance(parts, tests, titlesOf);
  for (const document of new Set(parts.map((part) => part.document)))
    problems.push(...compared(parts, document));
  const text = page({ parts, rules, linkTo: (file) => `../${file}` });
  const formatted = await format(text, {
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

function compared(parts, document) {
  const path = join(documentsFolder, document);
  return existsSync(path) ? quoteProblems(parts, document, readFileSync(path, 'utf8')) : [];
}
