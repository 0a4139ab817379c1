/** The audit log: its key, its checkpoints, and proofs. Checkpoints are of the whole log. */
import { Controller, Inject } from '@nestjs/common';
import {
  type Checkpoint,
  consistencyProof,
  newestCheckpoint,
  proveStream,
  readCheckpoints,
  readTree,
  storedNodes,
} from '@pis/audit';
import {
  type AuditKeyView,
  type CheckpointListQuery,
  type CheckpointView,
  type ConsistencyQuery,
  type ConsistencyView,
  getAuditKey,
  getConsistency,
  getPaymentProof,
  listCheckpoints,
  type PaymentProofView,
  problem,
} from '@pis/contracts';
import { payment as payments, streamPrefixOf } from '@pis/domain';
import { type EventStore, repository, StoreUnavailable } from '@pis/event-store';
import {
  type Answer,
  answer,
  Caller,
  Cursors,
  type Given,
  GivenQuery,
  Id,
  invalid,
  notFound,
  Operation,
  Query,
  Turns,
} from '@pis/http-api';
import { EVENT_STORE, PG_POOL } from '@pis/service-kit';
import type pg from 'pg';

/** For a checkpoint that covers a payment: the signer looks every two seconds. */
const proofWait = { timeoutMs: 8_000, pollMs: 250 } as const;
/** Of an organization: a proof that waits asks the database again and again. */
const proofTurns = { atOnceMax: 8, sizeMax: 200 } as const;

@Controller()
export class AuditController {
  private readonly payments;
  private readonly proofs = new Turns(proofTurns);

  constructor(
    @Inject(EVENT_STORE) private readonly store: EventStore,
    @Inject(PG_POOL) private readonly pool: pg.Pool,
    @Inject(Cursors) private readonly cursors: Cursors,
  ) {
    this.payments = repository(store, payments);
  }

  @Operation(getAuditKey)
  async key(): Promise<Answer<AuditKeyView>> {
    const tree = await readTree(this.pool);
    if (tree?.verifierKey == null) throw new StoreUnavailable('no process has signed the log yet');
    return answer({ verifierKey: tree.verifierKey });
  }

  @Operation(listCheckpoints)
  async list(
    @Caller() { organizationId }: Caller,
    @GivenQuery() given: Given<CheckpointListQuery>,
  ): Promise<Answer<readonly CheckpointView[]>> {
    const { query, after } = this.cursors.page('checkpoints', organizationId, given);
    const { limit } = query;
    const from = after === undefined ? {} : { from: Number(after.id) };
    const read = await readCheckpoints(this.store, { ...from, limit: limit + 1 });
    const items = read.slice(0, limit);
    const next = read[limit];
    const nextCursor =
      next === undefined
        ? null
        : this.cursors.encode('checkpoints', organizationId, {
            createdAt: next.createdAt,
            id: String(next.revision),
          });
    return answer(items.map(viewOf), { limit, nextCursor });
  }

  @Operation(getConsistency)
  async consistency(@Query() { from, to }: ConsistencyQuery): Promise<Answer<ConsistencyView>> {
    const newest = await newestCheckpoint(this.store);
    const isSigned = to <= (newest?.treeSize ?? 0);
    const problems = [
      ...(from > to ? [problem('from', 'validation_max')] : []),
      ...(isSigned ? [] : [problem('to', 'validation_max')]),
    ];
    if (problems.length > 0) throw invalid(problems);
    const proof = await consistencyProof(from, to, (nodes) => storedNodes(this.pool, nodes));
    return answer({ proof: proof.map(base64) });
  }

  /** A payment of another organization is not found. */
  @Operation(getPaymentProof)
  async proof(
    @Caller() { organizationId }: Caller,
    @Id('paymentId') paymentId: string,
  ): Promise<Answer<PaymentProofView>> {
    const { state } = await this.payments.load(paymentId);
    if (state?.organizationId !== organizationId) throw notFound('payment');
    const streamId = `${streamPrefixOf('payment')}${paymentId}`;
    const source = { store: this.store, pool: this.pool };
    const { checkpoint, events } = await this.proofs.take(organizationId, () =>
      proveStream(source, streamId, proofWait),
    );
    return answer({
      checkpoint: checkpoint.note,
      treeSize: checkpoint.treeSize,
      events: events.map(({ index, leaf, proof }) => ({
        index,
        leaf: base64(Buffer.from(leaf)),
        proof: proof.map(base64),
      })),
    });
  }
}

function viewOf({ treeSize, rootHash, createdAt, note }: Checkpoint): CheckpointView {
  return { treeSize, rootHash, createdAt, note };
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64');
}
