/** One large statement, in a process of its own: how long it takes, and how much memory at most. */
import { say } from '../workspace.mjs';
import { measure } from './processes.mjs';

const full = { lines: 100_000 };
const short = { lines: 2_000 };
const goals = { seconds: 60, peakRssMb: 500 };

export async function statements({ isShort }) {
  const { lines } = isShort ? short : full;
  say(`a statement with ${lines} lines`);
  return measure('statement-load.mjs', { lines });
}

export function reportStatements({ lines, bytes, ms, cpuMs, peakRssMb, blockedMaxMs }) {
  const rows = [
    [`A STATEMENT WITH ${lines.toLocaleString('en')} LINES`, '', 'goal'],
    ['time', `${(ms / 1_000).toFixed(1)} s`, `≤ ${goals.seconds} s`],
    ['processor time', `${(cpuMs / 1_000).toFixed(1)} s`, ''],
    ['peak memory of the process', `${Math.round(peakRssMb)} MB`, `≤ ${goals.peakRssMb} MB`],
    ['event loop blocked, longest', `${Math.round(blockedMaxMs)} ms`, ''],
    ['file', `${(bytes / 1e6).toFixed(1)} MB`, ''],
  ];
  for (const [name, value, goal] of rows)
    console.log(`${name.padEnd(34)}  ${value.padEnd(10)}  ${goal}`.trimEnd());
}
