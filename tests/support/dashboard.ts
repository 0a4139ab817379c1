/**
 * The dashboard for scenarios.
 *
 * `startDashboard()` starts a whole system. `signedIn('operator', '/dashboard/payments')` opens a page as a user with
 * that role, the first one in a new browser. `client('operator')` calls the API without a page.
 */
import { randomUUID } from 'node:crypto';
import type { UserRole } from '@pis/domain';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { Api, type ApiResponse } from './api.js';
import { openBrowser } from './browser.js';
import { pis } from './process.js';
import { allInOne, type StartSystem, type System } from './systems.js';
import { type Look, looks, WatchedPage } from './watched-page.js';

const apiPath = '/dashboard/api';
const password = 'correct horse battery';

export interface DashboardUser {
  readonly userId: string;
  readonly email: string;
  readonly password: string;
}

/** A user, or a role in the organization of the system: always the same user for a role. */
type Who = UserRole | DashboardUser;

export interface StartOptions {
  readonly settings?: Readonly<Record<string, string>>;
  readonly start?: StartSystem;
}

/** Without `start`: all in one process. */
export async function startDashboard({
  settings = {},
  start = allInOne,
}: StartOptions = {}): Promise<DashboardScenario> {
  return new DashboardScenario(await start(settings));
}

export class DashboardScenario {
  /** The public API with the organization's key. */
  readonly api: Api;
  private readonly users = new Map<UserRole, Promise<DashboardUser>>();
  private opened: Promise<Browser> | null = null;

  constructor(readonly system: System) {
    this.api = new Api(system.apiUrl, system.apiKey);
  }

  get origin(): string {
    return new URL(this.system.dashboardUrl).origin;
  }

  /** Opened at the first call. */
  browser(): Promise<Browser> {
    this.opened ??= openBrowser();
    return this.opened;
  }

  /** The user who has this role in the organization of the system. Created at the first call. */
  user(role: UserRole): Promise<DashboardUser> {
    const known = this.users.get(role);
    if (known !== undefined) return known;
    const created = this.newUser(role);
    this.users.set(role, created);
    return created;
  }

  /** One more user, created by the operator's command. */
  async newUser(
    role: UserRole,
    organizationId = this.system.organizationId,
  ): Promise<DashboardUser> {
    const email = `${role}.${randomUUID().slice(0, 8)}@scenario.example`;
    const args = ['--organization', organizationId, '--email', email, '--role', role, '--json'];
    const created = await pis(
      ['user', 'create', ...args],
      this.system.environment,
      `${password}\n`,
    );
    if (created.code !== 0) throw new Error(created.stderr);
    const { userId } = JSON.parse(created.stdout) as { userId: string };
    return { userId, email, password };
  }

  /** A page without a session. `path`: for example `/dashboard/payments?status=FAILED`. */
  async open(
    path: string,
    look: Look = 'desktop',
    options: BrowserContextOptions = {},
  ): Promise<WatchedPage> {
    const watched = await this.blank(look, options);
    await watched.page.goto(`${this.origin}${path}`);
    return watched;
  }

  /** A page with a session. Only `signInByForm` goes through the form. */
  async signedIn(
    who: Who,
    path = '/dashboard/',
    look: Look = 'desktop',
    options: BrowserContextOptions = {},
  ): Promise<WatchedPage> {
    const watched = await this.session(who, look, options);
    await watched.page.goto(`${this.origin}${path}`);
    return watched;
  }

  /** An empty page with a session. Its browser has loaded nothing yet. */
  async session(
    who: Who,
    look: Look = 'desktop',
    options: BrowserContextOptions = {},
  ): Promise<WatchedPage> {
    const { email, password } = await this.userOf(who);
    const watched = await this.blank(look, options);
    // The page's own cookies are those of its context.
    const { request } = watched.page.context();
    const answer = await request.post(`${this.origin}${apiPath}/sign-in`, {
      headers: { origin: this.origin, 'x-pis-dashboard': '1' },
      data: { email, password },
    });
    if (!answer.ok()) throw new Error(`sign-in: ${answer.status()} ${await answer.text()}`);
    return watched;
  }

  /** A client of the dashboard's API. */
  async client(who: Who): Promise<Dashboard> {
    const { email, password } = await this.userOf(who);
    const client = new Dashboard(this.system.dashboardUrl);
    await client.signIn(email, password);
    return client;
  }

  async close(): Promise<void> {
    try {
      await (await this.opened)?.close();
    } finally {
      await this.system.stop();
    }
  }

  private userOf(who: Who): Promise<DashboardUser> {
    return typeof who === 'string' ? this.user(who) : Promise.resolve(who);
  }

  private async blank(look: Look, options: BrowserContextOptions): Promise<WatchedPage> {
    const { origin } = this;
    return WatchedPage.open(await this.browser(), {
      ...looks[look],
      ...options,
      origin,
      mayRefuse: true,
    });
  }
}

/** Fills in the sign-in page, which is open. */
export async function signInByForm(
  { page }: WatchedPage,
  { email, password }: Pick<DashboardUser, 'email' | 'password'>,
): Promise<void> {
  await page.getByLabel('Email', { exact: true }).fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

/** A simple client of the dashboard's API: one signed-in user, with the headers of a browser. */
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

  async call(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
  ): Promise<ApiResponse> {
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
