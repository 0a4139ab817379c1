/**
 * EventStoreDB's protocol messages, made and read. The classes are those the client package ships in
 * its generated/ folder: CommonJS without names that Node can see, hence default imports and types apart.
 */
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { StreamIdentifier, UUID } from '@eventstore/db-client/generated/shared_pb.js';
import type { AppendReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { LoggedEvent, StandInEvent } from './stand-in-log.js';

export function nameOf(identifier: StreamIdentifier | undefined): string {
  return Buffer.from(identifier?.getStreamName_asU8() ?? []).toString('utf8');
}

export function identifierOf(streamId: string): StreamIdentifier {
  const identifier = new shared.StreamIdentifier();
  identifier.setStreamName(Buffer.from(streamId, 'utf8').toString('base64'));
  return identifier;
}

export function uuidText(uuid: UUID | undefined): string {
  if (uuid === undefined) return '';
  if (uuid.hasString()) return uuid.getString();
  const structured = uuid.getStructured();
  const half = (bits: string | undefined) =>
    BigInt.asUintN(64, BigInt(bits ?? 0))
      .toString(16)
      .padStart(16, '0');
  const hex =
    half(structured?.getMostSignificantBits()) + half(structured?.getLeastSignificantBits());
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function uuidOf(text: string): UUID {
  const uuid = new shared.UUID();
  uuid.setString(text);
  return uuid;
}

export function proposedEvent(message: AppendReq.ProposedMessage): StandInEvent {
  return {
    id: uuidText(message.getId()),
    type: message.getMetadataMap().get('type') ?? '',
    contentType: message.getMetadataMap().get('content-type') ?? '',
    data: message.getData_asU8(),
    metadata: message.getCustomMetadata_asU8(),
  };
}

export function readEvent(event: LoggedEvent): ReadResp {
  const response = new streams.ReadResp();
  const read = new streams.ReadResp.ReadEvent();
  read.setEvent(filled(new streams.ReadResp.ReadEvent.RecordedEvent(), event));
  read.setCommitPosition(String(event.commit));
  response.setEvent(read);
  return response;
}

function filled(
  message: ReadResp.ReadEvent.RecordedEvent,
  event: LoggedEvent,
): ReadResp.ReadEvent.RecordedEvent {
  message.setId(uuidOf(event.id));
  message.setStreamIdentifier(identifierOf(event.streamId));
  message.setStreamRevision(String(event.revision));
  message.setCommitPosition(String(event.commit));
  message.setPreparePosition(String(event.prepare));
  message.setData(event.data);
  message.setCustomMetadata(event.metadata);
  message
    .getMetadataMap()
    .set('type', event.type)
    .set('content-type', event.contentType)
    .set('created', String(event.createdTicks));
  return message;
}
