/**
 * Makes the pictures of README.md and docs/ again: `node tools/screenshots.mjs`. It starts the sandbox on a new data
 * directory, signs in as its demo user, and writes docs/images. It needs Chromium (.ci/programs gets one).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { allProjects, continueOnSupportedNode, prepare, root, say } from './workspace.mjs';

await prepare(allProjects());
await continueOnSupportedNode();
// The bundled Node.js reads TypeScript.
const { openBrowser } = await import('../tests/support/browser.ts');

const images = join(root, 'docs/images');
/** A clone stays small. */
const bytesMax = 200 * 1024;
const shownLimitMs = 30_000;
const askedEveryMs = 50;
const isSettled =
  "document.querySelector('[class*=Skeleton], [class*=Loader], [aria-busy=true]') === null && document.getAnimations().every(({ playState }) => playState !== 'running')";
const desktop = { viewport: { width: 1_280, height: 800 }, locale: 'en-US' };
/** The height that shows the page of a payment down to its timeline. */
const toTheTimelinePx = 1_480;
const phone = {
  ...{ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
  locale: 'en-US',
};

const dataDir = mkdtempSync(join(tmpdir(), 'pis-screenshots-'));
const sandbox = startSandbox();
try {
  const ready = await readyLine(sandbox);
  const browser = await openBrowser();
  try {
    await takeAll(browser, ready);
  } finally {
    await browser.close();
  }
} finally {
  if (sandbox.exitCode === null) {
    sandbox.kill('SIGTERM');
    await once(sandbox, 'exit');
  }
  rmSync(dataDir, { recursive: true, force: true });
}

function startSandbox() {
  const own = { PORT: '0', HOST: '127.0.0.1', PIS_DATA_DIR: dataDir, LOG_LEVEL: 'warn' };
  return spawn(process.execPath, [join(root, 'tools/start.mjs')], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...own },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

async function readyLine({ stdout }) {
  for await (const line of createInterface({ input: stdout }))
    if (line.startsWith('{"ready":true')) return JSON.parse(line);
  throw new Error('npm start ended before it was ready');
}

async function takeAll(browser, ready) {
  const page = await signedIn(browser, ready, desktop);
  const payments = await demoPayments(page);

  await open(page, ready, '', 'Overview');
  await take(page, 'dashboard-overview');
  await open(page, ready, 'payments', 'Payments');
  await take(page, 'dashboard-payments');
  const { paymentId: returned } = payments.find(({ status }) => status === 'RETURNED');
  await page.goto(`${ready.dashboardUrl}payments/${returned}`);
  await page.getByText('Portrait session').first().waitFor();
  await page.setViewportSize({ ...desktop.viewport, height: toTheTimelinePx });
  await take(page, 'dashboard-payment');

  const waiting = payments.find(({ status }) => status === 'AWAITING_CONFIRMATION');
  const onPhone = await newPage(browser, phone);
  await onPhone.goto(await linkOf(page, waiting));
  await onPhone.getByRole('heading', { name: 'Payment details' }).waitFor();
  await take(onPhone, 'payment-page-phone');

  const submitted = payments.find(
    ({ status, direction }) => status === 'PROCESSING' && direction === 'INBOUND',
  );
  const inTheDark = await newPage(browser, { ...phone, colorScheme: 'dark' });
  await inTheDark.goto(await linkOf(page, submitted));
  await inTheDark.getByRole('heading', { name: 'Payment status' }).waitFor();
  await take(inTheDark, 'payment-status-phone');
}

async function newPage(browser, options) {
  const page = await (await browser.newContext(options)).newPage();
  page.setDefaultTimeout(shownLimitMs);
  return page;
}

async function signedIn(browser, { dashboardUrl, dashboardUser }, options) {
  const page = await newPage(browser, options);
  await page.goto(`${dashboardUrl}sign-in`);
  await page.getByLabel('Email', { exact: true }).fill(dashboardUser.email);
  await page.getByLabel('Password', { exact: true }).fill(dashboardUser.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('link', { name: 'Payments' }).first().waitFor();
  return page;
}

async function open(page, { dashboardUrl }, path, heading) {
  await page.goto(`${dashboardUrl}${path}`);
  await page.getByRole('heading', { name: heading, exact: true }).waitFor();
}

/** The page's own cookies are those of its context. */
async function demoPayments(page) {
  const answer = await page.request.get(apiUrl(page, '/payments?limit=100'));
  return (await answer.json()).data;
}

async function linkOf(page, { paymentId }) {
  const { origin } = new URL(page.url());
  const headers = { origin, 'x-pis-dashboard': '1' };
  const answer = await page.request.post(apiUrl(page, `/payments/${paymentId}/link`), { headers });
  return (await answer.json()).data.url;
}

function apiUrl(page, path) {
  return `${new URL(page.url()).origin}/dashboard/api${path}`;
}

/** Asked from here: the content security policy lets the page itself evaluate no text. */
async function settled(page) {
  const deadline = performance.now() + shownLimitMs;
  while (!(await page.evaluate(isSettled))) {
    if (performance.now() > deadline) throw new Error(`${page.url()} does not come to rest`);
    await sleep(askedEveryMs);
  }
}

async function take(page, name) {
  const path = join(images, `${name}.png`);
  // Live updates keep a connection open, so the network is never idle.
  await page.waitForLoadState('load');
  await settled(page);
  await page.screenshot({ path, animations: 'disabled' });
  const { size } = statSync(path);
  say(`docs/images/${name}.png: ${Math.ceil(size / 1_024)} KB`);
  if (size > bytesMax) throw new Error(`${name}.png is larger than ${bytesMax} bytes`);
}
