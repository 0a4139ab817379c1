/** A simple client of the API for the scenarios. */

export interface ApiResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: {
    readonly data?: unknown;
    readonly meta?: unknown;
    readonly error?: {
      readonly code: string;
      readonly message: string;
      readonly details?: unknown;
    };
  };
}

export class Api {
  constructor(
    private readonly baseUrl: string,
    private readonly apiKey: string,
  ) {}

  async call(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<ApiResponse> {
    const response = await fetch(`${this.baseUrl}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.apiKey}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    return {
      status: response.status,
      headers: response.headers,
      // Not that of a 204, nor a file.
      body: isJson ? (JSON.parse(text) as ApiResponse['body']) : {},
    };
  }

  /** The `data` of a call that must succeed with `status`. */
  async data<Data>(status: number, ...call: Parameters<Api['call']>): Promise<Data> {
    const response = await this.call(...call);
    if (response.status !== status)
      throw new Error(`${call[0]} ${call[1]}: ${response.status} ${JSON.stringify(response.body)}`);
    return response.body.data as Data;
  }

  createPayment(
    payment: Readonly<Record<string, unknown>>,
    idempotencyKey: string,
  ): Promise<ApiResponse> {
    return this.call('POST', '/v1/payments/', payment, { 'idempotency-key': idempotencyKey });
  }
}
