/** Why no connection was made (guarded-dial.ts). */

/** No address of the host may receive webhooks. */
export class AddressBlocked extends Error {
  override readonly name = 'AddressBlocked';
  constructor() {
    super('the host has no publicly routable address');
  }
}

export class HostNotFound extends Error {
  override readonly name = 'HostNotFound';
}

export class ConnectTimeout extends Error {
  override readonly name = 'ConnectTimeout';
}

/** A failure of the operator's proxy. Its message names neither address nor credentials. */
export class EgressProxyFailed extends Error {
  override readonly name = 'EgressProxyFailed';
}
