import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApiFailure, call, type Problem } from './api.js';

const refused = (problem: Problem) =>
  new ApiFailure(400, 'VALIDATION_ERROR', 'the request is not valid', [problem]);

it.each([
  [
    { field: 'email', issue: 'validation_email', message: 'email must be an e-mail address' },
    'Enter an e-mail address, such as ada@example.com.',
  ],
  [
    {
      field: 'companyName',
      issue: 'validation_min_length',
      message: 'companyName must have at least 1 character',
    },
    'Fill in this field.',
  ],
  [
    {
      field: 'recipient.contactId',
      issue: 'validation_contact_originator_mismatch',
      message: 'recipient.contactId is a contact of another originator',
    },
    'This contact belongs to another originator.',
  ],
])('says in words of its own what is wrong: %j', (problem, text) => {
  expect(refused(problem).problemOf(problem.field)).toBe(text);
});

it('lets a form say in its own words what a code means for it', () => {
  const problem = {
    field: 'paymentAmount',
    issue: 'validation_max',
    message: 'paymentAmount is more than any rail of the organization can move',
  };
  const own = { validation_max: 'No bank rail moves that much.' } as const;
  expect(refused(problem).problemOf('paymentAmount', own)).toBe('No bank rail moves that much.');
  expect(refused(problem).problemOf('paymentAmount', { validation_min: 'More.' })).toBe(
    'This number is too large.',
  );
});

it('shows the rule of the server where it has no code, without the name that the API has for the field', () => {
  const rule = 'must not contain NUL or unpaired surrogates';
  const problem = { field: 'recipient.firstName', issue: rule };
  expect(
    refused({ ...problem, message: `recipient.firstName ${rule}` }).problemOf(problem.field),
  ).toBe('Must not contain NUL or unpaired surrogates.');
  expect(refused(problem).problemOf(problem.field)).toBe('This value is not accepted.');
});

it('says nothing of fields without a problem', () => {
  expect(refused({ field: 'email', issue: 'validation_email' }).problemOf('label')).toBeNull();
});

describe('a server that is silent', () => {
  const pageFetch = globalThis.fetch;
  /** What it has answered when it falls silent: nothing, or the beginning of a body. */
  const silent = async (begin: (response: ServerResponse) => void, work: () => Promise<void>) => {
    const server = createServer((_request, response) => begin(response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    // The page's addresses are paths of its own server.
    globalThis.fetch = (path, init) => pageFetch(`${origin}${String(path)}`, init);
    try {
      await work();
    } finally {
      globalThis.fetch = pageFetch;
      server.closeAllConnections();
      server.close();
    }
  };
  const noAnswer = { status: 0, code: 'NO_ANSWER' };

  it.each<[string, (response: ServerResponse) => void]>([
    ['before it answers', () => undefined],
    ['in the middle of an answer', (response) => response.writeHead(200).write('{"data":')],
  ])('%s fails the read after a time', async (_title, begin) => {
    await silent(begin, async () => {
      await expect(call('getOverview', { timeoutMs: 50 })).rejects.toMatchObject(noAnswer);
    });
  });

  it('fails a change whose connection breaks off, and a caller that gives up ends the read itself', async () => {
    await silent(
      (response) => response.destroy(),
      () => expect(call('signOut')).rejects.toMatchObject(noAnswer),
    );
    const leaving = new AbortController();
    await silent(
      () => leaving.abort(),
      () =>
        expect(call('getOverview', { signal: leaving.signal })).rejects.toMatchObject({
          name: 'AbortError',
        }),
    );
  });
});
