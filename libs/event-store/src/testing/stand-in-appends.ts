/** Streams.Append and Streams.BatchAppend of the EventStoreDB stand-in. */
import shared from '@eventstore/db-client/generated/shared_pb.js';
import status from '@eventstore/db-client/generated/status_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type {
  AppendReq,
  AppendResp,
  BatchAppendReq,
  BatchAppendResp,
} from '@eventstore/db-client/generated/streams_pb.js';
import type { ServerDuplexStream, ServerReadableStream, sendUnaryData } from '@grpc/grpc-js';
import anyMessage from 'google-protobuf/google/protobuf/any_pb.js';
import { type StandInFaults, unauthenticated, unavailable } from './stand-in-faults.js';
import type { Expectation, StandInAppend, StandInEvent, StandInLog } from './stand-in-log.js';
import { nameOf, proposedEvent, uuidText } from './stand-in-messages.js';

type Answer = (outcome: StandInAppend) => void;
type Fail = (error: ReturnType<typeof unavailable>) => void;

/** Applies a scripted fault to one append. */
function appendWithFaults(
  { log, faults }: { log: StandInLog; faults: StandInFaults },
  streamId: string,
  expected: Expectation,
  events: readonly StandInEvent[],
  answer: Answer,
  fail: Fail,
): void {
  const fault = faults.append?.(streamId) ?? null;
  if (fault === 'hang') return;
  if (fault === 'unavailable') return fail(unavailable());
  if (fault === 'unauthenticated') return fail(unauthenticated());
  const outcome = log.append(streamId, expected, events);
  if (fault === 'answerHangs') return;
  if (fault === 'answerLost') return fail(unavailable());
  answer(outcome);
}

export function append(server: { log: StandInLog; faults: StandInFaults }) {
  return (
    call: ServerReadableStream<AppendReq, AppendResp>,
    callback: sendUnaryData<AppendResp>,
  ): void => {
    let options: AppendReq.Options | undefined;
    const events: StandInEvent[] = [];
    call.on('data', (message: AppendReq) => {
      const proposed = message.getProposedMessage();
      if (message.hasOptions()) options = message.getOptions();
      else if (proposed !== undefined) events.push(proposedEvent(proposed));
    });
    call.on('end', () => {
      if (options === undefined) return callback(unavailable());
      const streamId = nameOf(options.getStreamIdentifier());
      const revision = options.hasRevision() ? Number(options.getRevision()) : null;
      const expected = expectation(options, revision);
      appendWithFaults(
        server,
        streamId,
        expected,
        events,
        (outcome) => callback(null, appendResponse(outcome, expected)),
        callback,
      );
    });
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

export function batchAppend(server: { log: StandInLog; faults: StandInFaults }) {
  return (call: ServerDuplexStream<BatchAppendReq, BatchAppendResp>): void => {
    const pending = new Map<
      string,
      { options: BatchAppendReq.Options | undefined; events: StandInEvent[] }
    >();
    call.on('data', (message: BatchAppendReq) => {
      const key = uuidText(message.getCorrelationId());
      const batch = pending.get(key) ?? { options: undefined, events: [] };
      pending.set(key, batch);
      if (message.hasOptions()) batch.options = message.getOptions();
      batch.events.push(...message.getProposedMessagesList().map(proposedEvent));
      const { options, events } = batch;
      if (!message.getIsFinal() || options === undefined) return;
      pending.delete(key);
      const streamId = nameOf(options.getStreamIdentifier());
      const revision = options.hasStreamPosition() ? Number(options.getStreamPosition()) : null;
      const expected = expectation(options, revision);
      const answer = (outcome: StandInAppend) => {
        const response = new streams.BatchAppendResp();
        response.setCorrelationId(message.getCorrelationId());
        response.setStreamIdentifier(options.getStreamIdentifier());
        call.write(batchResponse(response, outcome, expected));
      };
      appendWithFaults(server, streamId, expected, events, answer, (error) =>
        call.emit('error', error),
      );
    });
    call.on('end', () => call.end());
  };
}

function batchResponse(
  response: BatchAppendResp,
  outcome: StandInAppend,
  expected: Expectation,
): BatchAppendResp {
  if (outcome.done) {
    const success = new streams.BatchAppendResp.Success();
    success.setCurrentRevision(String(outcome.revision));
    if (outcome.event === null) success.setNoPosition(new shared.Empty());
    else {
      const position = new shared.AllStreamPosition();
      position.setCommitPosition(String(outcome.event.commit));
      position.setPreparePosition(String(outcome.event.prepare));
      success.setPosition(position);
    }
    response.setSuccess(success);
    return response;
  }
  const wrong = new shared.WrongExpectedVersion();
  if (outcome.current < 0) wrong.setCurrentNoStream(new shared.Empty());
  else wrong.setCurrentStreamRevision(String(outcome.current));
  if (typeof expected === 'number') wrong.setExpectedStreamPosition(String(expected));
  else if (expected === 'noStream') wrong.setExpectedNoStream(new shared.Empty());
  else wrong.setExpectedStreamExists(new shared.Empty());
  const details = new anyMessage.Any();
  details.pack(wrong.serializeBinary(), 'event_store.client.WrongExpectedVersion');
  const error = new status.Status();
  error.setMessage('WrongExpectedVersion');
  error.setDetails(details);
  response.setError(error);
  return response;
}
