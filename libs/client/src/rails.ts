/** Which rail a payment takes. */
import type { RequestOptions, Transport } from './transport.js';
import type { PaymentCreateRequest, RailEvaluation } from './types.js';

export class Rails {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The rail that this payment would take now. Creates nothing. */
  async evaluate(request: PaymentCreateRequest, options?: RequestOptions): Promise<RailEvaluation> {
    const path = '/v1/rails/evaluate';
    const call = { method: 'POST', path, body: request, repeatable: true } as const;
    return (await this.#transport.send<RailEvaluation>(call, options)).data;
  }
}
