/**
 * A report as one HTML file that loads nothing: it opens offline, and a text of strangers in it is text. Its policy
 * forbids scripts, too.
 */
import type { Report, ReportItem, ReportSection } from './report.js';

const policy = "default-src 'none'; style-src 'unsafe-inline'";
const style = `body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}h3{font-size:1rem;margin:1rem 0 0}
dl{display:grid;grid-template-columns:max-content 1fr;gap:0 1rem;margin:0 0 0 1rem}
dt{color:#555}dd{margin:0;overflow-wrap:anywhere}`;

export function htmlOfReport({ title, facts, sections }: Report): string {
  const body = [`<h1>${escaped(title)}</h1>`, listOf(facts), ...sections.map(sectionOf)].join('\n');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`;
}

function sectionOf({ title, items }: ReportSection): string {
  const told = items.length === 0 ? ['<p>None.</p>'] : items.map(itemOf);
  return [`<h2>${escaped(title)}</h2>`, ...told].join('\n');
}

function itemOf({ head, facts }: ReportItem): string {
  return `<h3>${escaped(head)}</h3>\n${listOf(facts)}`;
}

function listOf(facts: Report['facts']): string {
  const rows = facts.map(([name, value]) => `<dt>${escaped(name)}</dt><dd>${escaped(value)}</dd>`);
  return rows.length === 0 ? '' : `<dl>${rows.join('')}</dl>`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);
}
