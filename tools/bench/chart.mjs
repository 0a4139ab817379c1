/** Draws values over time: with block characters for a terminal, or as an SVG file. A value may be null where there is none. */

const blocks = '▁▂▃▄▅▆▇█';
const columns = 72;
const rows = 6;

/**
 * @param chart `{ title, values }`, a value for each second. A column shows the greatest of its seconds.
 * @returns lines of text
 */
export function terminalChart({ title, values }) {
  const points = bucketsOf(values, columns);
  const top = roundedUp(Math.max(0, ...points));
  const label = (value) => value.toLocaleString('en').padStart(9);
  const lines = Array.from({ length: rows }, (_, index) => {
    const floor = rows - 1 - index;
    const cells = points.map((value) => cellOf((value / top) * rows - floor));
    return `${index === 0 ? label(top) : ' '.repeat(9)} ┤${cells.join('')}`;
  });
  const axis = `${label(0)} └${'─'.repeat(points.length)}`;
  const end = `${values.length} s`;
  return [title, ...lines, axis, `${' '.repeat(11)}0${end.padStart(points.length - 1)}`];
}

/** @param filled how much of the cell is below the value: 0 or less for nothing, 1 or more for all of it */
function cellOf(filled) {
  if (filled <= 0) return ' ';
  return blocks[Math.min(blocks.length - 1, Math.floor(filled * blocks.length))];
}

function bucketsOf(values, count) {
  const size = Math.max(1, values.length / count);
  return Array.from({ length: Math.min(count, values.length) }, (_, n) =>
    Math.max(0, ...values.slice(Math.floor(n * size), Math.max(Math.floor((n + 1) * size), 1))),
  );
}

/** The next of 1, 2, 4, 6, 8, 10, 20 … */
function roundedUp(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 6, 8, 10].map((step) => step * power).find((step) => step >= value);
}

const width = 820;
const panel = { height: 130, left: 80, right: 20, gap: 60 };

/** @param charts the same as of `terminalChart`, one below the other; @returns the text of the file */
export function svgOf({ title, charts }) {
  const height = 50 + charts.length * (panel.height + panel.gap);
  const panels = charts.map((chart, n) => panelOf(chart, 70 + n * (panel.height + panel.gap)));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="13" fill="#333">
<title>${title}</title>
<rect width="${width}" height="${height}" fill="#fff"/>
<text x="20" y="28" font-size="16">${title}</text>
${panels.join('\n')}
</svg>
`;
}

function panelOf({ title, values }, y) {
  const { left, right, height } = panel;
  const top = roundedUp(Math.max(0, ...values));
  const inner = width - left - right;
  const bottom = y + height;
  const xOf = (n) => (left + (n * inner) / Math.max(1, values.length - 1)).toFixed(1);
  const points = values
    .map((value, n) => [value, n])
    .filter(([value]) => value !== null)
    .map(([value, n]) => `${xOf(n)},${(bottom - (value / top) * height).toFixed(1)}`);
  const line = (value) => {
    const at = bottom - (value / top) * height;
    return `<path d="M${left} ${at}H${width - right}" stroke="#ddd"/><text x="${left - 8}" y="${at + 4}" text-anchor="end">${value.toLocaleString('en')}</text>`;
  };
  return `<text x="${left}" y="${y - 10}">${title}</text>
${[0, top / 2, top].map(line).join('\n')}
<polyline fill="none" stroke="#1d4ed8" points="${points.join(' ')}"/>
<text x="${left}" y="${bottom + 18}">0</text><text x="${width - right}" y="${bottom + 18}" text-anchor="end">${values.length} s</text>`;
}
