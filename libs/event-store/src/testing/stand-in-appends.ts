/** Streams.Append of the EventStoreDB stand-in. */
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { AppendReq, AppendResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { Metadata, ServerReadableStream, ServiceError, sendUnaryData } from '@grpc/grpc-js';
import { commitTimeout, tooLarge, unauthenticated, unavailable } from './stand-in-faults.js';
import type { Expectation, StandInAppend, StandInEvent } from './stand-in-log.js';
import { nameOf, proposedEvent } from './stand-in-messages.js';
import type { StandInNode } from './stand-in-node.js';

/** The server's own limit of one append. It counts the data alone. */
const appendMaxBytes = 1_048_576;

type Answer = (outcome: StandInAppend) => void;
type Fail = (error: ServiceError) => void;

/** One append, as this node takes it. */
function take(
  node: StandInNode,
  metadata: Metadata,
  streamId: string,
  expected: Expectation,
  events: readonly StandInEvent[],
  answer: Answer,
  fail: Fail,
): void {
  const { cluster, faults } = node;
  const fault = faults.append?.(streamId) ?? null;
  if (fault === 'hang') return;
  if (fault === 'unavailable') return fail(unavailable());
  if (fault === 'unauthenticated') return fail(unauthenticated());
  const refusal = node.refusal(metadata) ?? node.access?.mayAppend(metadata, streamId) ?? null;
  if (refusal !== null) return fail(refusal);
  // A follower forwards what does not require the leader, and waits for nobody when none leads.
  if (cluster.leader === null)
    return void setTimeout(() => fail(commitTimeout()), node.commitTimeoutMs);
  if (events.reduce((sum, { data }) => sum + data.length, 0) > appendMaxBytes)
    return fail(tooLarge());
  const outcome = cluster.log.append(streamId, expected, events);
  if (fault === 'answerHangs') return;
  if (fault === 'answerLost') return fail(unavailable());
  if (!outcome.done || outcome.committing === null) return answer(outcome);
  // If an append is repeated before it is committed, the real server reports only a timeout.
  const isTold = outcome.committing !== 'repeated';
  const timer = setTimeout(() => fail(commitTimeout()), node.commitTimeoutMs);
  if (isTold)
    void outcome.committing.then(() => {
      clearTimeout(timer);
      answer(outcome);
    });
}

export function append(node: StandInNode) {
  return (
    call: ServerReadableStream<AppendReq, AppendResp>,
    callback: sendUnaryData<AppendResp>,
  ): void => {
    let options: AppendReq.Options | undefined;
    const events: StandInEvent[] = [];
    let answered = false;
    /** What is answered after the time limit is not answered at all. */
    const once: sendUnaryData<AppendResp> = (...answer) => {
      if (answered) return;
      answered = true;
      node.answered += 1;
      callback(...answer);
    };
    call.on('data', (message: AppendReq) => {
      const proposed = message.getProposedMessage();
      if (message.hasOptions()) options = message.getOptions();
      else if (proposed !== undefined) events.push(proposedEvent(proposed));
    });
    const taken = () => {
      // The messages of a call that was cut end, too, but not all of them came.
      if (call.cancelled) return;
      if (options === undefined) return once(unavailable());
      const streamId = nameOf(options.getStreamIdentifier());
      const revision = options.hasRevision() ? Number(options.getRevision()) : null;
      const expected = expectation(options, revision);
      const answer = (outcome: StandInAppend) => once(null, appendResponse(outcome, expected));
      take(node, call.metadata, streamId, expected, events, answer, once);
    };
    // A cut call is reported a moment after its end.
    call.on('end', () => setImmediate(taken));
  };
}

function expectation(
  options: { hasNoStream(): boolean; hasStreamExists(): boolean },
  revision: number | null,
): Expectation {
  if (options.hasNoStream()) return 'noStream';
  if (options.hasStreamExists()) return 'streamExists';
  return revision ?? 'any';
}

function appendResponse(outcome: StandInAppend, expected: Expectation): AppendResp {
  const response = new streams.AppendResp();
  if (outcome.done) {
    const success = new streams.AppendResp.Success();
    success.setCurrentRevision(String(outcome.revision));
    if (outcome.event === null) success.setNoPosition(new shared.Empty());
    else {
      const position = new streams.AppendResp.Position();
      position.setCommitPosition(String(outcome.event.commit));
      position.setPreparePosition(String(outcome.event.prepare));
      success.setPosition(position);
    }
    response.setSuccess(success);
    return response;
  }
  const wrong = new streams.AppendResp.WrongExpectedVersion();
  if (outcome.current < 0) wrong.setCurrentNoStream(new shared.Empty());
  else wrong.setCurrentRevision(String(outcome.current));
  if (typeof expected === 'number') wrong.setExpectedRevision(String(expected));
  else if (expected === 'noStream') wrong.setExpectedNoStream(new shared.Empty());
  else wrong.setExpectedStreamExists(new shared.Empty());
  response.setWrongExpectedVersion(wrong);
  return response;
}
