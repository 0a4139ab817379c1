/**
 * The linter of OpenAPI documents, as a library: nothing but the document is read, and nothing is
 * sent. `openapi-lint.spec.mjs` runs it over docs/openapi.json.
 */
import { BaseResolver, createConfig, lintFromString } from '@redocly/openapi-core';

const rules = {
  // The specification: "the collection paths for originators, contacts and payments carry a trailing slash".
  'no-path-trailing-slash': 'off',
  // What the strict set leaves to taste, and ours is.
  'component-name-unique': 'error',
  'no-http-verbs-in-paths': 'error',
  'operation-singular-tag': 'error',
  'operation-tag-defined': 'error',
  'parameter-description': 'error',
  'path-params-defined': 'error',
  'request-mime-type': { severity: 'error', allowedValues: ['application/json'] },
  'response-mime-type': {
    severity: 'error',
    allowedValues: ['application/json', 'application/pdf'],
  },
  'spec-components-invalid-map-name': 'error',
  'spec-strict-refs': 'error',
};

/** Another document is never loaded, neither from a disk nor from a host. */
class NothingElse extends BaseResolver {
  loadExternalRef(address) {
    return Promise.reject(new Error(`${address} is outside of the document`));
  }
}

/** What is wrong, one line each; empty when nothing is. */
export async function openApiFindings(text) {
  const externalRefResolver = new NothingElse();
  const config = await createConfig(
    { extends: ['recommended-strict'], rules },
    { externalRefResolver },
  );
  const findings = await lintFromString({
    source: text,
    absoluteRef: 'openapi.json',
    config,
    externalRefResolver,
  });
  return findings.map(
    ({ ruleId, message, location }) => `${ruleId} ${location[0]?.pointer ?? ''}: ${message}`,
  );
}
