/** Users who lose the right to act while the body of their request is on its way. */
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { slowBodyMs } from '@pis/http-api';
import { until } from '@pis/local-servers/testing';
import { SignIn } from '@pis/users';
import { apiPath } from './routes.js';
import { type Board, by, origin, startBoard, type TestUser } from './testing/board.js';

const timeoutMs = 30_000;

let board: Board;
let port: number;
beforeAll(async () => {
  board = await startBoard();
  await board.app.listen(0, '127.0.0.1');
  ({ port } = board.app.getHttpServer().address() as AddressInfo);
});
afterAll(() => board?.close());

const signOut = (cookie: string) => board.call('/sign-out', { method: 'POST', cookie });

/** The user whom the hook before the body finds. */
function nextAdmission(): Promise<unknown> {
  const signIn = board.app.get(SignIn);
  const { promise, resolve } = Promise.withResolvers<unknown>();
  signIn.userOf = (token) => {
    const found = SignIn.prototype.userOf.call(signIn, token);
    resolve(found);
    return found;
  };
  return promise;
}

it.each([
  ['is disabled', 401, (user: TestUser) => board.users.disable(user, by)],
  ['is demoted', 403, (user: TestUser) => board.users.changeRole(user, 'viewer', by)],
  ['signs out', 401, (_user: TestUser, cookie: string) => signOut(cookie)],
] as const)('who %s while the body comes is refused', async (_title, status, change) => {
  const user = await board.newUser('admin');
  await board.newUser('admin', user.organizationId);
  const cookie = await board.signedIn(user);
  const admission = nextAdmission();
  const body = JSON.stringify({ email: 'new@board.example', role: 'admin' });
  const socket = connect(port, '127.0.0.1').setEncoding('latin1');
  let received = '';
  socket.on('data', (chunk: string) => (received += chunk));
  const closed = once(socket, 'close');
  const headers = [
    `POST ${apiPath}/users HTTP/1.1`,
    ...[`Host: ${new URL(origin).host}`, `Origin: ${origin}`, `Cookie: ${cookie}`],
    ...['Sec-Fetch-Site: same-origin', 'X-PIS-Dashboard: 1', 'Connection: close'],
    ...['Content-Type: application/json', `Content-Length: ${body.length}`],
  ];
  socket.write(`${headers.join('\r\n')}\r\n\r\n`);
  expect(await admission).toMatchObject({ userId: user.userId });
  await change(user, cookie);
  const admittedMs = performance.now();
  await until(() => performance.now() - admittedMs > slowBodyMs, { timeoutMs });
  socket.write(body);
  await closed;
  expect(received).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(await board.users.list(user.organizationId)).toHaveLength(2);
});
