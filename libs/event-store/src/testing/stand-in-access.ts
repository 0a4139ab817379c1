/**
 * Users and rights of the EventStoreDB stand-in, by the server's own rules: anybody who is known may
 * append to an ordinary stream; `$all` and the server's streams belong to `$admins`; the metadata of
 * `$all` can let others read it.
 */
import type { Metadata, ServiceError } from '@grpc/grpc-js';
import { accessDenied, unauthenticated } from './stand-in-faults.js';
import type { StandInLog } from './stand-in-log.js';

export interface StandInUser {
  readonly password: string;
  readonly groups: readonly string[];
}

const admins = '$admins';

export class StandInAccess {
  constructor(private readonly users: Readonly<Record<string, StandInUser>>) {}

  mayAppend(metadata: Metadata, streamId: string): ServiceError | null {
    const roles = this.#rolesOf(metadata);
    if (roles === null) return unauthenticated();
    return !streamId.startsWith('$') || roles.includes(admins) ? null : accessDenied();
  }

  mayRead(metadata: Metadata, streamId: string, log: StandInLog): ServiceError | null {
    const roles = this.#rolesOf(metadata);
    if (roles === null) return unauthenticated();
    if (!streamId.startsWith('$')) return null;
    const readers = streamId === '$all' ? readersOfAll(log) : [admins];
    return readers.some((reader) => roles.includes(reader)) ? null : accessDenied();
  }

  #rolesOf(metadata: Metadata): readonly string[] | null {
    const [basic = ''] = metadata.get('authorization').map(String);
    const text = Buffer.from(basic.replace(/^Basic /, ''), 'base64').toString();
    const [name = '', ...rest] = text.split(':');
    const password = rest.join(':');
    const user = this.users[name];
    return user === undefined || user.password !== password ? null : [name, ...user.groups];
  }
}

function readersOfAll(log: StandInLog): readonly string[] {
  const last = log.stream('$$$all')?.at(-1);
  if (last === undefined) return [admins];
  const { $acl } = JSON.parse(Buffer.from(last.data).toString()) as { $acl?: { $r?: unknown } };
  return [$acl?.$r ?? admins].flat().map(String);
}
