/** The figures of the webhooks: ratios to two self-hosted services on a machine like this one, and to our goals. */

/** Measured on two cores with messages of 1.5 KB and a receiver that answers at once. */
const peers = {
  Svix: { perSecond: 830, cpuMs: 2, p50Ms: 3.2, p99Ms: 8.4 },
  Outpost: { perSecond: 1_230, cpuMs: 1.2, p50Ms: 31, p99Ms: 61 },
};
const goals = { perSecond: 2_500, cpuMs: 0.6, p50Ms: 5, p99Ms: 25, isolationP99Ms: 250 };

export function reportWebhooks(results) {
  const rows = [
    ['WEBHOOKS', 'measured', ': goal', ...Object.keys(peers).map((name) => `: ${name}`)],
    ...ratesOf('drained backlog', results.drained),
    ...ratesOf('sustained', results.sustained),
    [
      `  beside ${n(results.aged.finished)} finished: deliveries/s`,
      n(results.aged.perSecond),
      '',
      '',
      '',
    ],
    ['    ratio to a fresh database', x(results.aged.ratio), '', '', ''],
    // Minutes lie between the two: CPU changes less in them than the speed of disk and machine.
    ['    ratio of the CPU of both', x(results.aged.cpuRatio), '', '', ''],
    ['    flush of the disk then', ms(results.sustained.flushMs), '', '', ''],
    ['    flush of the disk now', ms(results.aged.flushMs), '', '', ''],
    row('append → receipt p50', ms(results.latency.p50Ms), results.latency.p50Ms, 'p50Ms'),
    row('append → receipt p99', ms(results.latency.p99Ms), results.latency.p99Ms, 'p99Ms'),
    ...['p50Ms', 'p99Ms'].map((field) => {
      const value = results.latency.appended[field];
      return row(`  once it is appended, ${field.slice(0, 3)}`, ms(value), value, field);
    }),
    ['  beside one that hangs, p50', ms(results.isolation.p50Ms), '', 'never', 'never'],
    [
      '  beside one that hangs, p99',
      ms(results.isolation.p99Ms),
      x(results.isolation.p99Ms / goals.isolationP99Ms),
      'never',
      'never',
    ],
    ['envelope, bytes', n(results.envelopeBytes), '', '', ''],
    ['attempts made twice', n(results.duplicates), '', '', ''],
    ['broker', results.broker, '', '', ''],
  ];
  console.log('');
  const widths = rows[0].map((_, column) => Math.max(...rows.map((cells) => cells[column].length)));
  for (const cells of rows)
    console.log(
      cells
        .map((cell, column) => cell.padEnd(widths[column]))
        .join('  ')
        .trimEnd(),
    );
}

function ratesOf(name, rate) {
  return [
    row(`${name}: deliveries/s`, n(rate.perSecond), rate.perSecond, 'perSecond'),
    row('  CPU of the dispatcher', ms(rate.dispatcherCpuMs), rate.dispatcherCpuMs, 'cpuMs'),
    ['  CPU of PostgreSQL', ms(rate.postgresCpuMs), '', '', ''],
  ];
}

/** Each number with its ratio to the goal and to the peers; CPU is per delivery. */
function row(name, shown, value, field) {
  const ratios = Object.values(peers).map((peer) => x(value / peer[field]));
  return [name, shown, x(value / goals[field]), ...ratios];
}

const x = (ratio) => ratio.toFixed(2);
const n = (value) => Math.round(value).toLocaleString('en');
const ms = (value) => `${value.toFixed(2)} ms`;
