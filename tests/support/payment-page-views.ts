/**
 * Every view of the pages of payment links, and how a browser gets there. A status of a payment or a kind of error
 * without a view does not compile.
 */
import { randomBytes } from 'node:crypto';
import { logoBytesMax } from '@pis/domain';
import { StoreUnavailable } from '@pis/event-store';
import { OrganizationLogos } from '@pis/read-models';
import type { Page } from 'playwright-core';
import type { LinkPayment } from '../../apps/payment-pages/src/link-pages.js';
import {
  type PagesServer,
  type PagesServerOptions,
  token,
} from '../../apps/payment-pages/src/testing/pages-server.js';
import type { ErrorKind, ShownStatus, Texts } from '../../apps/payment-pages/src/texts/texts.js';

export interface PageView {
  /** The HTTP status of the answer that shows it. */
  readonly status: number;
  /** A heading that no other view on the way has. */
  readonly heading: (texts: Texts) => string;
  readonly settings?: NonNullable<PagesServerOptions['changes']>;
  /** Before the page is opened. The link is new. */
  readonly prepare?: (server: PagesServer) => void;
  /** On the page of the open link, in any language. */
  readonly act?: (page: Page, server: PagesServer) => Promise<void>;
}

const details = ({ details }: Texts) => details.heading;
const status = ({ status }: Texts) => status.heading;
const link = (changes: Partial<LinkPayment>) => (server: PagesServer) =>
  server.links.add(token, changes);
const send = { direction: 'OUTBOUND', payerFeeMinor: 0 } as const;

const open = {
  details: { status: 200, heading: details },
  send: { status: 200, heading: details, prepare: link(send) },
  erased: { status: 200, heading: details, prepare: link({ originatorName: null, holder: null }) },
  logo: { status: 200, heading: details, prepare: withLogo },
  unpayable: {
    status: 200,
    heading: details,
    prepare: link({ holder: { entityType: 'INDIVIDUAL', name: '小龙 李' } }),
  },
  problems: {
    status: 400,
    heading: ({ form }) => form.problems,
    act: async (page) => {
      await page.locator('input[name="achAccountNumber"]').fill('12');
      await submit(page);
    },
  },
} as const satisfies Readonly<Record<string, PageView>>;

const statusView = (changes: Partial<LinkPayment>): PageView => ({
  status: 200,
  heading: status,
  prepare: link({ bankName: 'First Bank', ...changes }),
});

const used = {
  QUEUED: statusView({ status: 'QUEUED' }),
  PROCESSING: statusView({ status: 'PROCESSING' }),
  COMPLETED: statusView({ status: 'COMPLETED' }),
  FAILED: statusView({ status: 'FAILED' }),
  FAILED_IN_FLIGHT: statusView({ status: 'FAILED_IN_FLIGHT' }),
  BLOCKED: statusView({ status: 'BLOCKED' }),
  RETURNED: statusView({ status: 'RETURNED' }),
} as const satisfies Readonly<Record<ShownStatus, PageView>>;

const late = {
  sent: statusView({ ...send, status: 'COMPLETED' }),
  usedTwice: {
    status: 409,
    heading: status,
    act: async (page, { links }) => {
      links.change(token, { status: 'QUEUED' });
      await submit(page);
    },
  },
  expired: {
    status: 410,
    heading: ({ expired }) => expired.heading,
    prepare: link({ expiresAt: new Date(0).toISOString() }),
  },
} as const satisfies Readonly<Record<string, PageView>>;

const error = (kind: ErrorKind, view: Omit<PageView, 'heading'>): PageView => ({
  ...view,
  heading: ({ errors }) => errors[kind].heading,
});

const errors = {
  notFound: error('notFound', { status: 404, prepare: link({ status: 'CANCELED' }) }),
  forbidden: error('forbidden', {
    status: 403,
    act: async (page) => {
      await page.evaluate(`document.querySelector('[name="formToken"]').value = 'of another link'`);
      await submit(page);
    },
  }),
  // One request a second, with a burst of two. The browser comes after them.
  tooMany: error('tooMany', {
    status: 429,
    settings: { PIS_RATE_LIMIT_PER_KEY: 1 },
    act: async (page, { url }) => {
      let shown: number | undefined;
      for (let tries = 0; shown !== 429 && tries < triesMax; tries += 1) {
        await Promise.all(Array.from({ length: burst }, () => fetch(`${url}/pay/${token}`)));
        shown = (await page.goto(`${url}/pay/${token}`))?.status();
      }
    },
  }),
  away: error('away', { status: 503, prepare: outage(new StoreUnavailable('away')) }),
  notReadable: error('notReadable', {
    status: 415,
    act: async (page) => {
      await page.evaluate(`document.querySelector('form').enctype = 'text/plain'`);
      await submit(page);
    },
  }),
  other: error('other', { status: 500, prepare: outage(new Error('broken')) }),
} as const satisfies Readonly<Record<ErrorKind, PageView>>;

export const pageViews: Readonly<Record<string, PageView>> = {
  ...open,
  ...used,
  ...late,
  ...errors,
};

const triesMax = 20;
const burst = 5;

/** Opens the view in a page without history. Resolves when the page has all its files. */
export async function openView(page: Page, server: PagesServer, view: PageView, texts: Texts) {
  const statuses: number[] = [];
  page.on('response', (response) => {
    if (response.request().isNavigationRequest()) statuses.push(response.status());
  });
  server.links.outage = null;
  server.links.add(token);
  view.prepare?.(server);
  await page.goto(`${server.url}/pay/${token}`);
  await view.act?.(page, server);
  const name = view.heading(texts);
  await page.getByRole('heading', { name, exact: true }).waitFor();
  await page.waitForLoadState('load');
  expect(statuses.at(-1)).toBe(view.status);
}

async function submit(page: Page): Promise<void> {
  const posted = page.waitForResponse((response) => response.request().method() === 'POST');
  await page.locator('button[type=submit]').click();
  await posted;
}

function outage(error: Error) {
  return ({ links }: PagesServer) => {
    links.outage = error;
  };
}

/** One pixel. The page stretches it to the size that is recorded. */
const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg==',
  'base64',
);
/** As large as a logo may be, and no compression makes it smaller. Browsers ignore what follows the picture. */
const picture = Buffer.concat([pixel, randomBytes(logoBytesMax - pixel.length)]);

function withLogo({ app, links }: PagesServer): void {
  const logos = app.get(OrganizationLogos);
  logos.byDigest = () => Promise.resolve(picture);
  links.add(token, { organizationLogo: { digest: 'a'.repeat(64), width: 160, height: 40 } });
}
