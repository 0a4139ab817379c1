/** The table of the pages of payment links, with the goals beside it. */
const goals = { p99Ms: 100, createsToAlone: 0.9, usableMs: 1_000, bytes: 50_000 };

export function reportPages(result) {
  const { viewsPerSecond, one, many, beside, slowPhone } = result;
  const { createsPerSecond, createsBesidePerSecond, createsToAlone } = result;
  const rows = [
    [`PAGES at ${viewsPerSecond} views/s`, 'p50', 'p99', 'CPU per view', 'goal'],
    ['of one link', ...times(one), `p99 ≤ ${goals.p99Ms} ms`],
    ['of many links', ...times(many), `p99 ≤ ${goals.p99Ms} ms`],
    ['of many links, beside the payments below', ...times(beside), ''],
    ['payments accepted/s', n(createsPerSecond), '', '', ''],
    ['payments accepted/s beside the views', n(createsBesidePerSecond), '', '', ''],
    ['beside the views : alone', createsToAlone.toFixed(2), '', '', `≥ ${goals.createsToAlone}`],
  ];
  if (slowPhone !== null)
    rows.push(
      [
        `usable on a phone (CPU 1/${slowPhone.cpuSlowdown}, 1.6 Mbit/s, 150 ms)`,
        `${n(slowPhone.usableMs)} ms`,
        `worst ${n(slowPhone.usableMsMax)} ms`,
        '',
        `≤ ${n(goals.usableMs)} ms`,
      ],
      ['bytes with all files', n(slowPhone.bytes), '', '', `< ${n(goals.bytes)}`],
    );
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  console.log('');
  for (const row of rows)
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column]))
        .join('  ')
        .trimEnd(),
    );
}

const ms = (value) => `${value.toFixed(1)} ms`;
const n = (value) => Math.round(value).toLocaleString('en');
const times = ({ p50Ms, p99Ms, cpuMsPerView }) => [
  ms(p50Ms),
  ms(p99Ms),
  `${cpuMsPerView.toFixed(2)} ms`,
];
