/** PersistentSubscriptions of the EventStoreDB stand-in: Create and Read, of a stream and of `$all`. */
import { randomUUID } from 'node:crypto';
import persistent from '@eventstore/db-client/generated/persistent_pb.js';
import type {
  CreateReq,
  CreateResp,
  ReadReq,
  ReadResp,
} from '@eventstore/db-client/generated/persistent_pb.js';
import grpc, {
  type ServerDuplexStream,
  type ServerUnaryCall,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { unavailable } from './stand-in-faults.js';
import type { LoggedEvent, StandInLog } from './stand-in-log.js';
import { nameOf, persistentReadEvent, uuidText } from './stand-in-messages.js';

export interface PersistentGroup {
  readonly acknowledged: Set<string>;
  readonly parked: string[];
}

/** By `<stream or $all>::<group>`. */
export type PersistentGroups = Map<string, PersistentGroup>;

export function createGroup(groups: PersistentGroups) {
  return (
    call: ServerUnaryCall<CreateReq, CreateResp>,
    callback: sendUnaryData<CreateResp>,
  ): void => {
    const options = call.request.getOptions();
    const identifier =
      options?.getStream()?.getStreamIdentifier() ?? options?.getStreamIdentifier();
    const streamId = options?.hasAll() ? '$all' : nameOf(identifier);
    const groupName = options?.getGroupName() ?? '';
    const key = `${streamId}::${groupName}`;
    if (groups.has(key)) {
      const metadata = new grpc.Metadata();
      metadata.set('exception', 'persistent-subscription-exists');
      metadata.set('stream-name', streamId);
      metadata.set('group-name', groupName);
      return callback({ code: grpc.status.ALREADY_EXISTS, details: 'exists', metadata });
    }
    groups.set(key, { acknowledged: new Set(), parked: [] });
    callback(null, new persistent.CreateResp());
  };
}

export function readGroup({ log, groups }: { log: StandInLog; groups: PersistentGroups }) {
  return (call: ServerDuplexStream<ReadReq, ReadResp>): void => {
    let group: PersistentGroup | undefined;
    let streamId = '';
    let unfollow = () => {};
    const retries = new Map<string, number>();
    const push = (event: LoggedEvent) => {
      const wanted = streamId === '$all' || event.streamId === streamId;
      if (wanted && group?.acknowledged.has(event.id) === false)
        call.write(persistentReadEvent(event, retries.get(event.id) ?? 0));
    };
    const begin = (options: ReadReq.Options) => {
      streamId = options.hasAll() ? '$all' : nameOf(options.getStreamIdentifier());
      group = groups.get(`${streamId}::${options.getGroupName()}`);
      if (group === undefined) return void call.emit('error', unavailable());
      const confirmation = new persistent.ReadResp.SubscriptionConfirmation();
      confirmation.setSubscriptionId(randomUUID());
      const response = new persistent.ReadResp();
      response.setSubscriptionConfirmation(confirmation);
      call.write(response);
      for (const event of log.events) push(event);
      unfollow = log.follow(push);
    };
    const refuse = (ids: readonly string[], retry: boolean) => {
      for (const id of ids) {
        const event = log.events.find((logged) => logged.id === id);
        if (retry && event !== undefined) {
          retries.set(id, (retries.get(id) ?? 0) + 1);
          setImmediate(push, event);
        } else {
          group?.acknowledged.add(id);
          group?.parked.push(id);
        }
      }
    };
    call.on('data', (message: ReadReq) => {
      const options = message.getOptions();
      const nack = message.getNack();
      if (options !== undefined) begin(options);
      for (const id of message.getAck()?.getIdsList() ?? []) group?.acknowledged.add(uuidText(id));
      if (nack !== undefined)
        refuse(
          nack.getIdsList().map(uuidText),
          Number(nack.getAction()) === persistent.ReadReq.Nack.Action.RETRY,
        );
    });
    call.on('cancelled', () => unfollow()).on('error', () => unfollow());
    call.on('end', () => {
      unfollow();
      call.end();
    });
  };
}
