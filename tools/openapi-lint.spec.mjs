import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { openApiFindings } from './openapi-lint.mjs';
import { root } from './workspace.mjs';

const committed = readFileSync(join(root, 'docs/openapi.json'), 'utf8');
const linesOf = (document) => openApiFindings(JSON.stringify(document));

describe('docs/openapi.json', () => {
  it('passes a linter of OpenAPI documents', async () => {
    expect(await openApiFindings(committed)).toEqual([]);
  });

  it('fails with an example that its schema does not allow', async () => {
    const document = JSON.parse(committed);
    const { examples } =
      document.paths['/v1/payments/'].post.requestBody.content['application/json'];
    examples.outbound.value.paymentAmount = 0;
    examples.inbound.value.paymentSum = 1;
    expect(await linesOf(document)).toEqual([
      expect.stringContaining('no-invalid-media-type-examples'),
      expect.stringContaining('paymentSum'),
    ]);
  });

  it('fails with a parameter without description', async () => {
    const document = JSON.parse(committed);
    delete document.paths['/v1/payments/{paymentId}'].get.parameters[0].description;
    expect(await linesOf(document)).toEqual([expect.stringContaining('parameter-description')]);
  });

  it('fails with two paths that match the same address', async () => {
    const document = JSON.parse(committed);
    document.paths['/v1/payments/{paymentId}'].get.parameters[0].schema = { type: 'string' };
    const { get } = document.paths['/v1/statements'];
    document.paths['/v1/payments/latest/'] = { get: { ...get, operationId: 'latestPayment' } };
    expect(await linesOf(document)).toEqual([
      'paths-alike /v1/payments/{paymentId}: an address of /v1/payments/latest/ fits it too',
    ]);
  });

  it('is checked without loading anything else', async () => {
    const asked = [http, https].map((module) =>
      jest.spyOn(module, 'request').mockImplementation(() => {
        throw new Error('the linter asked another host');
      }),
    );
    const fetched = jest.spyOn(globalThis, 'fetch').mockRejectedValue(new Error('fetched'));
    const document = JSON.parse(committed);
    document.components.schemas.Meta = { $ref: 'https://schemas.example.com/meta.json' };
    expect(await linesOf(document)).toContainEqual(
      expect.stringContaining('meta.json is outside of the document'),
    );
    for (const spy of [...asked, fetched]) {
      expect(spy).not.toHaveBeenCalled();
      spy.mockRestore();
    }
  });
});
