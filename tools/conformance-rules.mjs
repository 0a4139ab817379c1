/**
 * The decisions of conformance.mjs, apart from its deeds: what is wrong between the documents that
 * state rules, the rules taken from them (tests/contract/rules) and the tests, and how the page of
 * all of them reads.
 *
 * A document's part is `{ document, heading, rules, context }`. `rules` has a literal quote by the id
 * of the rule, or an object: `text` (the quote) with `sameAs` (the id of the rule that says the same
 * elsewhere), `tests` (`{ file, title }` of tests outside of the suite) or `notTestable` (why).
 * `context` has quotes that state no rule of the service, and why not. Together they are the whole
 * text under the heading: a sentence that is added to the document is noticed.
 */
import ts from 'typescript';

/** `payment-7`: what the title of a contract test begins with. */
const ruleId = /^([a-z]+(?:-[a-z]+)*-\d+) /;

/** Titles of the tests in a source file: the first argument of `it(…)`, `itOn…(…)`, `it.each(…)(…)`. */
export function titlesIn(source, file = 'tests.ts') {
  const titles = [];
  const visit = (node) => {
    if (ts.isCallExpression(node)) {
      const [first] = node.arguments;
      if (first && ts.isStringLiteralLike(first) && calls(node.expression)) titles.push(first.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, source, ts.ScriptTarget.Latest));
  return titles;
}

function calls(expression) {
  let callee = expression;
  while (!ts.isIdentifier(callee)) {
    if (!ts.isCallExpression(callee) && !ts.isPropertyAccessExpression(callee)) return false;
    callee = callee.expression;
  }
  return /^it([A-Z]\w*)?$/.test(callee.text);
}

/** `tests` are those of the suite, `{ file, title }`; `titlesOf(file)` are those of any other file, null if there is none. */
export function conformance(parts, tests, titlesOf) {
  const problems = [];
  const rules = parts.flatMap((part) =>
    Object.entries(part.rules).map(([id, rule]) => ({
      id,
      part,
      ...(typeof rule === 'string' ? { text: rule } : rule),
    })),
  );
  const byId = new Map();
  for (const rule of rules) {
    if (byId.has(rule.id)) problems.push(`${rule.id}: two rules have this id`);
    byId.set(rule.id, rule);
  }
  const testsOf = new Map();
  for (const test of tests) {
    const id = ruleId.exec(test.title)?.[1];
    if (!byId.has(id)) problems.push(`${test.file}: "${test.title}" names no rule`);
    else if (testsOf.has(id)) problems.push(`${test.file}: ${id} has a test already`);
    else testsOf.set(id, test);
  }
  for (const rule of rules) {
    const own = testsOf.get(rule.id);
    const elsewhere = rule.tests ?? [];
    for (const { file, title } of elsewhere)
      if (!titlesOf(file)?.includes(title))
        problems.push(`${rule.id}: there is no test "${title}" in ${file}`);
    if (rule.sameAs !== undefined && !byId.has(rule.sameAs))
      problems.push(`${rule.id}: there is no rule ${rule.sameAs}`);
    if (byId.get(rule.sameAs)?.sameAs !== undefined)
      problems.push(`${rule.id}: ${rule.sameAs} refers to another rule itself`);
    if (rule.notTestable !== undefined && (own || elsewhere.length > 0))
      problems.push(`${rule.id}: is tested, and called not testable`);
    rule.proofs = [...(own ? [own] : []), ...elsewhere];
    if (rule.proofs.length === 0 && rule.sameAs === undefined && rule.notTestable === undefined)
      problems.push(`${rule.id}: has no test: "${rule.text}"`);
  }
  return { rules, problems };
}

/** Quotes that are not in the text under their heading, and text that is in no quote. */
export function quoteProblems(parts, document, markdown) {
  const problems = [];
  const sections = sectionsOf(markdown);
  for (const part of parts.filter((each) => each.document === document)) {
    const text = sections.get(part.heading);
    if (text === undefined) {
      problems.push(`${document} has no heading "${part.heading}"`);
      continue;
    }
    const quotes = [
      ...Object.values(part.rules).map((rule) => (typeof rule === 'string' ? rule : rule.text)),
      ...Object.keys(part.context ?? {}),
    ];
    let rest = text;
    // The longest first: a short quote may be a part of a longer one.
    for (const quote of quotes.sort((a, b) => b.length - a.length)) {
      if (!text.includes(quote)) problems.push(`${document}, ${part.heading}: no "${quote}"`);
      rest = rest.replaceAll(quote, '\n');
    }
    for (const piece of rest.split('\n'))
      if (/\p{L}/u.test(piece))
        problems.push(`${document}, ${part.heading}: in no rule: "${piece.trim()}"`);
  }
  return problems;
}

/** Text by heading path; lines that belong together joined, heads and rules of tables left out. */
export function sectionsOf(markdown) {
  const sections = new Map();
  const path = [];
  const lines = markdown.split('\n');
  lines.forEach((line, index) => {
    const heading = /^(#+) (.*)$/.exec(line);
    if (heading) {
      path.length = heading[1].length - 1;
      path.push(heading[2]);
      return;
    }
    if (isTableRule(line) || isTableRule(lines[index + 1] ?? '')) return;
    const key = path.slice(1).join(' › ');
    const text = line.trim();
    const joins = !/^(\||- |\d+\. )/.test(text);
    sections.set(key, `${sections.get(key) ?? ''}${joins ? ' ' : '\n'}${text}`);
  });
  return sections;
}

function isTableRule(line) {
  return /^\|[-| ]+\|$/.test(line);
}

/** The page; `linkTo(file)` is how it refers to a file. */
export function page({ parts, rules, linkTo }) {
  const tested = rules.filter(({ notTestable }) => notTestable === undefined);
  const untested = rules.filter(({ notTestable }) => notTestable !== undefined);
  const lines = [
    '# Conformance',
    '',
    'Every rule that the specification and the interface description state, in their words and order, with the test',
    'that proves it. What they say besides has the reason why it is no rule. Generated by `node tools/conformance.mjs`;',
    '`npm run check` fails when a rule has no test.',
    '',
    `${rules.length} rules, ${tested.length} tested, ${untested.length} that nothing can be seen of in this release.`,
    'The contract tests run over HTTP against any address: see [CONTRIBUTING.md](../CONTRIBUTING.md).',
  ];
  let document = null;
  for (const part of parts) {
    if (part.document !== document) {
      document = part.document;
      lines.push('', `## ${titles[document] ?? document}`);
    }
    const items = rules
      .filter((each) => each.part === part)
      .flatMap((rule) => [`- **${rule.id}** ${quoted(rule.text)}`, ...proof(rule, linkTo)]);
    items.push(...noRules(part));
    if (items.length > 0) lines.push('', `### ${part.heading || 'Introduction'}`, '', ...items);
  }
  return `${lines.join('\n')}\n`;
}

/** Words that only lead to the next sentence are nothing that a reader would miss. */
const leadingOn = 'introduces what follows';

function noRules({ context = {} }) {
  return Object.entries(context)
    .filter(([, reason]) => reason !== leadingOn)
    .map(([quote, reason]) => `- ${quoted(quote)} is no rule: ${reason}`);
}

const titles = { 'spec.md': 'Specification', 'interface.md': 'Interface' };

function proof(rule, linkTo) {
  if (rule.notTestable !== undefined) return [`  - not tested: ${rule.notTestable}`];
  const own = rule.proofs.map(({ file, title }) => `  - [${escaped(title)}](${linkTo(file)})`);
  return rule.sameAs === undefined ? own : [...own, `  - as ${rule.sameAs}`];
}

/** A quote is shown as it is in the document, except that Markdown must not act on it. */
function quoted(text) {
  return `“${escaped(text)}”`;
}

function escaped(text) {
  // Inside code spans nothing needs an escape.
  return text
    .split(/(`[^`]*`)/)
    .map((piece) => (piece.startsWith('`') ? piece : piece.replace(/([\\*_[\]<>{}|])/g, '\\$1')))
    .join('');
}
