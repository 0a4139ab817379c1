/** The table: ratios first, with the goals beside them. */

import { median } from './statistics.mjs';

const goals = {
  gatewayToInserts: 0.5,
  gatewayToEmptyPost: 0.25,
};

export function reportMachine({ cores, cpu, memoryGb, node }) {
  console.log(`${cores} cores, ${cpu}, ${memoryGb} GB, Node ${node}\n`);
}

export function report(results) {
  const { ratios, rounds, acceptedAllInOne, firstWebhook, lifecycles, list } = results;
  const per = (pick) => median(rounds.map(pick));
  const rows = [
    ['RATIOS', '', 'goal'],
    [
      'accepted payments : single-row inserts (api-gateway alone)',
      x(ratios.gatewayToInserts),
      `≥ ${goals.gatewayToInserts}`,
    ],
    [
      'accepted payments : empty Fastify POST (api-gateway alone)',
      x(ratios.gatewayToEmptyPost),
      `≥ ${goals.gatewayToEmptyPost}`,
    ],
    [
      'accepted payments : single-row inserts (all in one, executing too)',
      x(ratios.allInOneToInserts),
      '',
    ],
    [
      'accepted payments : empty Fastify POST (all in one, executing too)',
      x(ratios.allInOneToEmptyPost),
      '',
    ],
    ['', '', ''],
    ['ABSOLUTE', '', ''],
    ['durable single-row inserts/s, 64 clients', n(per((round) => round.inserts.perSecond)), ''],
    ['empty Fastify POST/s, 64 connections', n(per((round) => round.emptyPost.perSecond)), ''],
    [
      'accepted payments/s, api-gateway alone',
      `${n(per((round) => round.accepted.perSecond))}  p50 ${ms(per((round) => round.accepted.p50Ms))}  p99 ${ms(per((round) => round.accepted.p99Ms))}`,
      '',
    ],
    [
      'accepted payments/s, all in one',
      `${n(acceptedAllInOne.perSecond)}  p50 ${ms(acceptedAllInOne.p50Ms)}  p99 ${ms(acceptedAllInOne.p99Ms)}`,
      '',
    ],
    [
      `create → first webhook at ${firstWebhook.perSecond}/s, all in one`,
      `p50 ${ms(firstWebhook.p50Ms)}  p99 ${ms(firstWebhook.p99Ms)}`,
      '50 ms, 250 ms',
    ],
    ['full lifecycles/s (created → COMPLETED → 3 webhooks)', n(lifecycles.perSecond), ''],
    [
      `list at ${list.payments} payments, first page`,
      `p50 ${ms(list.firstPage.p50Ms)}  p99 ${ms(list.firstPage.p99Ms)}`,
      '',
    ],
    [
      `list at ${list.payments} payments, page 50`,
      `p50 ${ms(list.deepPage.p50Ms)}  p99 ${ms(list.deepPage.p99Ms)}`,
      '',
    ],
    ['idle all-in-one, RSS without PostgreSQL', `${n(results.idleRssMb)} MB`, '≤ 300 MB'],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  for (const [name, value, goal] of rows)
    console.log(`${name.padEnd(width)}  ${String(value).padEnd(34)}  ${goal}`.trimEnd());
}

const x = (ratio) => ratio.toFixed(2);
const n = (value) => Math.round(value).toLocaleString('en');
const ms = (value) => `${value.toFixed(1)} ms`;
