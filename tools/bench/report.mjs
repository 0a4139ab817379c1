/** The table of payments: ratios first, with the goals beside them. */

const goals = {
  gatewayToInserts: 0.5,
  gatewayToEmptyPost: 0.25,
  held: 5_000,
  lifecycles: 1_000,
  idleRssMb: 300,
};

export function reportMachine({ cores, cpu, memoryGb, node }) {
  console.log(`${cores} cores, ${cpu}, ${memoryGb} GB, Node ${node}\n`);
}

export function reportPayments(results) {
  const rows = [...ratioRows(results), ...absoluteRows(results)];
  const width = Math.max(...rows.map(([name]) => name.length));
  for (const [name, value = '', goal = ''] of rows)
    console.log(`${name.padEnd(width)}  ${value.padEnd(48)}  ${goal}`.trimEnd());
}

function ratioRows({ ratios, limits }) {
  const accepted = (side, where) => `accepted payments : ${side} (${where})`;
  const alone = 'api-gateway alone';
  const inAll = 'all in one, executing too';
  return [
    ['RATIOS, median (least–greatest) of the rounds', '', 'goal'],
    [
      accepted('single-row inserts', alone),
      x(ratios.gatewayToInserts),
      `≥ ${goals.gatewayToInserts}`,
    ],
    ...(limits.pgbenchInserts === null
      ? []
      : [[accepted('inserts by pgbench', alone), x(ratios.gatewayToPgbench)]]),
    [
      accepted('empty Fastify POST', alone),
      x(ratios.gatewayToEmptyPost),
      `≥ ${goals.gatewayToEmptyPost}`,
    ],
    [accepted('single-row inserts', inAll), x(ratios.allInOneToInserts)],
    [accepted('empty Fastify POST', inAll), x(ratios.allInOneToEmptyPost)],
    [''],
  ];
}

function absoluteRows(results) {
  const { limits, allInOne, held, distributed, gateway, firstWebhook, list, idleRssMb } = results;
  const accepted = ({ perSecond, p50Ms, p99Ms }) =>
    `${n(perSecond)}  p50 ${ms(p50Ms.median)}  p99 ${ms(p99Ms.median)}`;
  const latency = ({ p50Ms, p99Ms }) => `p50 ${ms(p50Ms)}  p99 ${ms(p99Ms)}`;
  const { pgbenchInserts } = limits;
  return [
    ['ABSOLUTE, median (least–greatest) of the rounds'],
    [
      'durable single-row inserts/s by pgbench, 64 clients',
      pgbenchInserts === null ? 'no pgbench in PATH' : n(pgbenchInserts),
    ],
    ['durable single-row inserts/s, 64 clients', n(limits.inserts)],
    ['empty Fastify POST/s, 64 connections', n(limits.emptyPost)],
    ['accepted payments/s, api-gateway alone', accepted(gateway.accepted)],
    [
      'accepted payments/s, all in one, nothing executed',
      accepted(held.accepted),
      `≥ ${goals.held.toLocaleString('en')}`,
    ],
    ['CPU time of such a payment, Node.js', cpu(held.nodeMs)],
    ['CPU time of such a payment, PostgreSQL', cpu(held.postgresMs)],
    ...systemRows('all in one', allInOne, accepted),
    ...(distributed === null ? [] : systemRows('a process for each app', distributed, accepted)),
    [
      `create → first webhook at ${firstWebhook.perSecond}/s, all in one`,
      latency(firstWebhook),
      '3 ms, 8 ms',
    ],
    [`list at ${list.payments} payments, first page`, latency(list.firstPage)],
    [`list at ${list.payments} payments, page 50`, latency(list.deepPage)],
    [
      'idle all-in-one, RSS without PostgreSQL',
      `${Math.round(idleRssMb)} MB`,
      `≤ ${goals.idleRssMb} MB`,
    ],
  ];
}

function systemRows(name, { accepted, lifecycles, lifecyclesWithWebhooks }, show) {
  return [
    [`accepted payments/s, ${name}, executing too`, show(accepted)],
    [`lifecycles/s, ${name} (created → COMPLETED)`, n(lifecycles)],
    [
      `lifecycles/s, ${name} (created → COMPLETED → 3 webhooks)`,
      n(lifecyclesWithWebhooks),
      `≥ ${goals.lifecycles.toLocaleString('en')}`,
    ],
  ];
}

const of = (show) => (values) => `${show(values.median)} (${show(values.min)}–${show(values.max)})`;
const x = of((ratio) => ratio.toFixed(2));
const n = of((value) => Math.round(value).toLocaleString('en'));
const cpu = of((value) => `${value.toFixed(2)} ms`);
const ms = (value) => `${value.toFixed(1)} ms`;
