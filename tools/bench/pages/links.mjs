/** Payment links for the bench, requested in the dashboard as a user does. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../../workspace.mjs';
import { call } from '../requests.mjs';

const concurrency = 8;
const paymentsPath = '/dashboard/api/payments';

/** The paths of so many new links: `/pay/<token>`. */
export async function requestLinks(inAll, env, originatorId, count) {
  const headers = await signedIn(inAll, env);
  const paths = [];
  const one = async () => {
    const { data: created } = await call(inAll.url, headers, 'POST', paymentsPath, {
      originatorId,
      direction: 'INBOUND',
      recipient: { entityType: 'INDIVIDUAL', firstName: 'Ada', lastName: 'Lovelace' },
      paymentAmount: 12_345,
      paymentNote: 'Invoice 42',
      idempotencyKey: randomUUID(),
    });
    const linkPath = `${paymentsPath}/${created.paymentId}/link`;
    const { data: link } = await call(inAll.url, headers, 'POST', linkPath, {});
    paths.push(new URL(link.url).pathname);
  };
  while (paths.length < count)
    await Promise.all(Array.from({ length: Math.min(concurrency, count - paths.length) }, one));
  return paths;
}

/** The headers of a new operator of the demo organization. */
async function signedIn({ url, ready }, env) {
  const email = `bench.${randomUUID()}@example.com`;
  const options = ['--organization', ready.organizationId, '--email', email, '--role', 'operator'];
  const created = promisify(execFile)(
    process.execPath,
    [join(root, 'apps/cli/bin/pis.mjs'), 'user', 'create', ...options, '--json'],
    { cwd: root, env: { ...process.env, ...env } },
  );
  // Without a password on stdin, the command makes one.
  created.child.stdin.end();
  const { stdout } = await created;
  const { password } = JSON.parse(stdout);
  const headers = { 'content-type': 'application/json', 'x-pis-dashboard': '1', origin: url };
  const response = await fetch(`${url}/dashboard/api/sign-in`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ email, password }),
  });
  if (!response.ok) throw new Error(`sign-in: ${response.status}`);
  const [cookie] = response.headers.getSetCookie()[0].split(';');
  return { ...headers, cookie };
}
