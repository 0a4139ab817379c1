/** The table of costs: two columns for a system without load, and one for each rate. */

export function reportCost({ isDistributed, isFloor, idle, afterPayments, rates }) {
  const row = (name, digits, pick) => [
    name,
    ...[idle, afterPayments, ...rates].map((costs) => show(pick(costs), digits)),
  ];
  const rowOfRates = (name, digits, pick) => [
    ...[name, '', ''],
    ...rates.map((costs) => show(pick(costs), digits)),
  ];
  /** What the system uses without a payment in the same time is not the payments' own. */
  const aboveIdle = ({ totalCpuMs, seconds, payments }) =>
    totalCpuMs - (afterPayments.totalCpuMs * seconds) / payments;
  const rows = [
    [
      titleOf({ isDistributed, isFloor }),
      'idle,',
      'just used,',
      ...rates.map((rate) => `at ${rate.perSecond}/s,`),
    ],
    ['', 'per second', 'per second', ...rates.map(() => 'per payment')],
    ...Object.keys(idle.cpuMs).map((name) => row(`CPU ms: ${name}`, 2, ({ cpuMs }) => cpuMs[name])),
    row('CPU ms: all', 2, ({ totalCpuMs }) => totalCpuMs),
    rowOfRates('CPU ms: all, without "just used"', 2, aboveIdle),
    row('statements', 1, ({ statements }) => statements),
    ...(isFloor ? [] : [row('reads of the log', 2, ({ logReads }) => logReads)]),
    row('bytes of write-ahead log', 0, ({ walBytes }) => walBytes),
    row('memory of Node.js, MB', 0, (costs) => costs.rssMb),
    [''],
    rowOfRates('payments delivered per second', 0, (rate) => rate.deliveredPerSecond),
    ...latencies.flatMap(([name, key]) => [
      rowOfRates(`${name}, p50 ms`, 1, (rate) => rate[key].p50Ms),
      rowOfRates(`${name}, p99 ms`, 1, (rate) => rate[key].p99Ms),
    ]),
  ];
  console.log('');
  for (const [name, ...cells] of rows)
    console.log(`${name.padEnd(38)}${cells.map((cell) => cell.padStart(13)).join('')}`.trimEnd());
  reportStatements(rates.at(-1));
}

function titleOf({ isDistributed, isFloor }) {
  if (isFloor) return 'COST OF INPUT AND OUTPUT ALONE';
  return isDistributed ? 'COST, A PROCESS FOR EACH APP' : 'COST, ALL IN ONE';
}

const latencies = [
  ['request → answer', 'answer'],
  ['request → first webhook', 'firstWebhook'],
  ['request → third webhook', 'lastWebhook'],
];

function reportStatements({ perSecond, topStatements }) {
  console.log(`\nSTATEMENTS AT ${perSecond}/s THAT TAKE THE MOST TIME: calls and ms per payment`);
  for (const { query, calls, ms } of topStatements)
    console.log(
      `${calls.toFixed(2).padStart(7)} ${ms.toFixed(3).padStart(7)}  ${query.slice(0, 90)}`,
    );
}

function show(value, digits) {
  return value.toLocaleString('en', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}
