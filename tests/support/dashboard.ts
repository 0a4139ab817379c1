/** A simple client of the dashboard's API: one signed-in user, with the headers of a browser. */
import type { ApiResponse } from './api.js';

const apiPath = '/dashboard/api';

export class Dashboard {
  private cookie = '';

  constructor(private readonly baseUrl: string) {}

  /** @throws if the user is refused */
  async signIn(email: string, password: string): Promise<void> {
    const { status, headers } = await this.call('POST', '/sign-in', { email, password });
    if (status !== 200) throw new Error(`sign-in: ${status}`);
    const [cookie = ''] = (headers.getSetCookie()[0] ?? '').split(';');
    this.cookie = cookie;
  }

  async call(method: 'GET' | 'POST', path: string, body?: unknown): Promise<ApiResponse> {
    const response = await fetch(`${this.baseUrl}${apiPath}${path}`, {
      method,
      headers: {
        origin: this.baseUrl,
        'x-pis-dashboard': '1',
        ...(this.cookie === '' ? {} : { cookie: this.cookie }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const { status, headers } = response;
    return { status, headers, body: (await response.json()) as ApiResponse['body'] };
  }

  /** The `data` of a call that must succeed. */
  async data<Data>(...call: Parameters<Dashboard['call']>): Promise<Data> {
    const { status, body } = await this.call(...call);
    if (status !== 200) throw new Error(`${call[0]} ${call[1]}: ${status} ${JSON.stringify(body)}`);
    return body.data as Data;
  }
}
