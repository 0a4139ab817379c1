/** `pis audit`: whether the log holds what was written, and who did what. Needs no key. */
import { readFileSync } from 'node:fs';
import {
  AuditStateFile,
  AuditStateUnusable,
  type Finding,
  findingsMax,
  type KnownCheckpoint,
  portLog,
  postgresLog,
  proveStream,
  readCheckpointNote,
  signedCheckpoints,
  verifyLog,
  type VerifyReport,
} from '@pis/audit';
import { bundleText, proofBundle } from '@pis/audit/life';
import type { ReadModelDifference } from '@pis/read-models';
import { Command } from 'commander';
import { auditReadModels, type ReadModelsReport } from '../audit/read-models.js';
import { ownState } from '../audit/state-owner.js';
import { type LogContext, withLog } from '../context.js';
import { idGiven } from '../operator-action.js';
import { writeForOwner } from '../owner-file.js';
import { addEventsCommand } from './audit-events.js';
import { addLifeCommands, pastTime, proofWait } from './audit-life.js';
import { CommandFailed, describe, type OutputOptions, print, say, withJson } from '../output.js';

const progressEveryMs = 5_000;
const stopSignals = ['SIGINT', 'SIGTERM'] as const;

export function auditCommands(): Command {
  const audit = new Command('audit').description('what the log says, and whether it was altered');
  withJson(
    audit
      .command('verify')
      .description(
        'read the whole log and check it: hashes, revisions, schemas, transitions, money of payments, and the tables of lists',
      )
      .option('--no-read-models', 'leave out the comparison of the tables of lists with the log')
      .option(
        '--checkpoint <file>',
        'a checkpoint note that was kept: the log must be consistent with it; repeat it for several',
        (file: string, files: readonly string[]) => [...files, file],
        [],
      )
      .option(
        '--key <verifierKey>',
        'a verifier key that may have signed checkpoints of the log; repeat it for several',
        (key: string, keys: readonly string[]) => [...keys, key],
        [],
      )
      .option(
        '--state <file>',
        'keep there how far the audit is: after a stop, the same command goes on from it',
      ),
  ).action(verify);
  addLifeCommands(audit);
  addEventsCommand(audit, pastTime);
  withJson(
    audit
      .command('export')
      .description(
        'write a payment’s proofs as one file, which tools/verifier/verify.mjs checks offline',
      )
      .requiredOption('--payment <id>', 'ID of the payment')
      .requiredOption('--out <file>', 'the file to write'),
  ).action(exportProof);
  return audit;
}

interface VerifyCommandOptions extends OutputOptions {
  readonly checkpoint: readonly string[];
  readonly key: readonly string[];
  readonly readModels: boolean;
  readonly state?: string;
}

async function verify(options: VerifyCommandOptions): Promise<void> {
  const release = options.state === undefined ? null : ownState(options.state);
  try {
    await verifyAlone(options);
  } finally {
    release?.();
  }
}

/** No other audit uses the state file. */
async function verifyAlone(options: VerifyCommandOptions): Promise<void> {
  const kept = options.checkpoint.map(keptIn);
  const report = await withLog((context) => verified(context, kept, options), {
    tables: options.readModels,
  });
  if (options.state !== undefined) await new AuditStateFile(options.state).remove();
  if (options.json === true) print(report, options);
  else await say([...report.findings.map(lineOf), ...summaryOf(report), ''].join('\n'));
  if (!report.ok) process.exitCode = 1;
}

/** A finding in the log, or a difference of a read model from it. */
type AnyFinding = Finding | (Finding & ReadModelDifference);

interface WholeReport extends Omit<VerifyReport, 'findings'> {
  readonly findings: readonly AnyFinding[];
  /** Null when they were left out. */
  readonly readModels: ReadModelsReport | null;
}

async function verified(
  context: LogContext,
  kept: readonly KnownCheckpoint[],
  options: VerifyCommandOptions,
): Promise<WholeReport> {
  const tell = progressLine();
  const log = await verifiedLog(context, kept, options, tell);
  if (!options.readModels) return { ...log, readModels: null };
  const findings: AnyFinding[] = [...log.findings];
  let { findingsTotal } = log;
  const readModels = await auditReadModels(context, {
    onPage: (projection, eventsRead) => tell(`read model ${projection}: ${eventsRead} events read`),
    onDifference(difference) {
      findingsTotal += 1;
      if (findings.length < findingsMax)
        findings.push({ stream: null, revision: null, position: null, ...difference });
    },
  });
  return { ...log, ok: findingsTotal === 0, findings, findingsTotal, readModels };
}

/** The log alone. With a state, a signal stops it after the page that it is at. */
async function verifiedLog(
  { config, pool, store }: LogContext,
  kept: readonly KnownCheckpoint[],
  { key: keys, state, readModels }: VerifyCommandOptions,
  tell: (progress: string) => void,
): Promise<VerifyReport> {
  const stop = new AbortController();
  const onSignal = () =>
    stop.abort(new CommandFailed('stopped: the same command goes on from here'));
  if (state !== undefined) stopSignals.forEach((signal) => process.once(signal, onSignal));
  try {
    return await verifyLog({
      source: config.PIS_EVENT_STORE === 'postgres' ? postgresLog(pool) : portLog(store),
      ...{ kept, keys, signed: (revision) => signedCheckpoints(store, revision) },
      onPage: (eventsRead) => tell(`${eventsRead} events read`),
      signal: stop.signal,
      ...(readModels ? { treeIn: pool } : {}),
      ...(state === undefined ? {} : { state: { file: state, onResume: tellResumed } }),
    });
  } catch (error) {
    throw error instanceof AuditStateUnusable ? new CommandFailed(describe(error)) : error;
  } finally {
    stopSignals.forEach((signal) => process.off(signal, onSignal));
  }
}

function tellResumed(eventsRead: number): void {
  process.stderr.write(`pis: goes on behind ${eventsRead} events\n`);
}

async function exportProof(
  options: OutputOptions & { payment: string; out: string },
): Promise<void> {
  const paymentId = idGiven('--payment', options.payment);
  const streamId = `payment-${paymentId}`;
  const proof = await withLog(
    ({ pool, store }) => proveStream({ pool, store }, streamId, proofWait),
    { tables: true },
  );
  if (proof.events.length === 0) throw new CommandFailed(`there is no payment ${paymentId}`);
  const bundle = proofBundle(paymentId, proof);
  writeForOwner(options.out, bundleText(bundle));
  print({ paymentId, events: bundle.events.length, treeSize: bundle.treeSize }, options);
}

/** @throws CommandFailed */
function keptIn(file: string): KnownCheckpoint {
  try {
    const { treeSize, rootHash } = readCheckpointNote(readFileSync(file, 'utf8'));
    return { treeSize, rootHash, from: file };
  } catch (error) {
    throw new CommandFailed(`${file}: ${describe(error)}`);
  }
}

/** Prints how far it is on stderr, every few seconds. */
function progressLine(): (progress: string) => void {
  let toldAtMs = performance.now();
  return (progress) => {
    if (performance.now() - toldAtMs < progressEveryMs) return;
    toldAtMs = performance.now();
    process.stderr.write(`pis: ${progress}\n`);
  };
}

function lineOf(finding: AnyFinding): string {
  const { stream, revision, position, differs } = finding;
  if ('table' in finding) {
    const { table, row, column } = finding;
    const place = stream === null ? '' : ` (${stream} revision ${revision})`;
    return `${table} row ${row}${column === null ? '' : ` column ${column}`}: ${differs}${place}`;
  }
  return stream === null
    ? `log: ${differs}`
    : `${stream} revision ${revision} (position ${position?.replace(/^0+/, '')}): ${differs}`;
}

function summaryOf(report: WholeReport): readonly string[] {
  const { ok, eventsRead, eventsPerSecond, streams, treeSize, rootHash, readModels } = report;
  const { leavesCompared, checkpointsCompared } = report;
  return [
    ...(readModels === null ? ['read models were not compared'] : comparedIn(readModels)),
    ...(leavesCompared === null
      ? []
      : [`${counted(leavesCompared, 'leaf', 'leaves')} of the stored tree compared`]),
    `${counted(eventsRead, 'event')} of ${counted(streams, 'stream')}, ${eventsPerSecond} events/s`,
    `${counted(treeSize, 'leaf', 'leaves')}, root ${rootHash}, ${counted(checkpointsCompared, 'checkpoint')} compared`,
    ...report.verifierKeys.map((key) => `checkpoints signed by ${key}`),
    ok ? 'everything holds' : findingsIn(report),
  ];
}

function findingsIn({ findings, findingsTotal }: WholeReport): string {
  const isCut = findings.length < findingsTotal;
  return `${counted(findingsTotal, 'finding')}${isCut ? `, of which the first ${findings.length} are listed` : ''}`;
}

function comparedIn({
  projections,
  personalData,
  statements,
  webhookBodies: { compared, stored, ofOtherShape, missing, unknown },
}: ReadModelsReport): readonly string[] {
  const rows = projections.reduce((sum, projection) => sum + projection.rows, 0);
  return [
    `${counted(rows, 'row')} of ${projections.length} read models compared with the log`,
    ...(statements === null ? [] : [`${counted(statements.compared, 'statement')} compared`]),
    `${bodies(compared)} computed again, ${stored} stored compared with the hash`,
    ...(ofOtherShape === 0 ? [] : [`${bodies(ofOtherShape)} of another release not compared`]),
    ...(missing === 0 ? [] : [`${bodies(missing)} without a hash`]),
    ...(unknown === 0
      ? []
      : [`${counted(unknown, 'hash', 'hashes')} of webhook bodies without an event`]),
    ...(personalData ? [] : ['names and accounts were not compared: there is no master key']),
  ];
}

const bodies = (count: number) => counted(count, 'webhook body', 'webhook bodies');

function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
