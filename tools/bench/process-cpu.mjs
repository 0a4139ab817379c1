/** CPU time and memory of processes, as the kernel counts them (proc(5)). Linux only. */
import { readdirSync, readFileSync } from 'node:fs';

/** USER_HZ, which Linux promises to programs on every platform that Node runs on. */
const ticksPerSecond = 100;

/** Of a process and all below it, those that have ended and were waited for included; in ms. */
export function cpuMsOfTree(pid) {
  return [...cpuMsByProcess(pid).values()].reduce((sum, cpuMs) => sum + cpuMs, 0);
}

/** Of a process and of each one below it, by its ID; in ms. Children that ended and were waited for belong to their parent. */
export function cpuMsByProcess(pid) {
  const processes = allProcesses();
  const found = new Map();
  const queue = [pid];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    if (processes.has(next)) found.set(next, processes.get(next).cpuMs);
    for (const [child, { parent }] of processes) if (parent === next) queue.push(child);
  }
  return found;
}

/** Memory of all processes below a process, such as the app below its launcher. */
export function rssMbBelow(pid) {
  const below = [...cpuMsByProcess(pid).keys()].filter((one) => one !== pid);
  return below.reduce((sum, one) => sum + rssMbOf(one), 0);
}

/** 0 for a process that has ended. */
export function rssMbOf(pid) {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readOf(pid, 'status') ?? '')?.[1] ?? 0) / 1024;
}

/** Whether the process is a server process of PostgreSQL for one connection, by the title that it gives itself. */
export function servesConnection(pid) {
  return /^postgres: .*\(\d+\)/.test(readOf(pid, 'cmdline') ?? '');
}

function allProcesses() {
  const processes = new Map();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = readOf(name, 'stat');
    if (stat === null) continue;
    // The second field, the name, may hold blanks and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [parent, ...times] = [fields[1], ...fields.slice(11, 15)].map(Number);
    const ticks = times.reduce((sum, time) => sum + time, 0);
    processes.set(Number(name), { parent, cpuMs: (ticks / ticksPerSecond) * 1000 });
  }
  return processes;
}

/** Null for a process that ended since it was listed. */
function readOf(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ESRCH') return null;
    throw error;
  }
}
