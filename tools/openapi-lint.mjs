/**
 * The linter of OpenAPI documents, as a library. It reads only the document and sends nothing. `openapi-lint.spec.mjs` runs it over docs/openapi.json.
 */
import { BaseResolver, createConfig, lintFromString } from '@redocly/openapi-core';

const rules = {
  // The specification: "the collection paths for originators, contacts and payments carry a trailing slash".
  'no-path-trailing-slash': 'off',
  // This rule compares only the templates. `pathsAlike`, below, knows that an id is a UUID, which no word of a path
  // is: /v1/webhooks/deliveries/{deliveryId} is not /v1/webhooks/{id}/test.
  'no-ambiguous-paths': 'off',
  // Rules that the strict set leaves open, with our choice.
  'component-name-unique': 'error',
  'no-http-verbs-in-paths': 'error',
  'operation-singular-tag': 'error',
  'operation-tag-defined': 'error',
  'parameter-description': 'error',
  'path-params-defined': 'error',
  'request-mime-type': { severity: 'error', allowedValues: ['application/json'] },
  'response-mime-type': {
    severity: 'error',
    allowedValues: [
      'application/json',
      'application/jsonl',
      'application/pdf',
      'application/xml',
      'text/csv',
      'text/plain',
    ],
  },
  'spec-components-invalid-map-name': 'error',
  'spec-strict-refs': 'error',
};

/** Never loads another document, from a disk or from a host. */
class NothingElse extends BaseResolver {
  loadExternalRef(address) {
    return Promise.reject(new Error(`${address} is outside of the document`));
  }
}

/** The problems of a JSON document, one line each. */
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
  return [
    ...findings.map(
      ({ ruleId, message, location }) => `${ruleId} ${location[0]?.pointer ?? ''}: ${message}`,
    ),
    ...pathsAlike(JSON.parse(text)),
  ];
}

/** Pairs of paths that match the same address, with or without a trailing slash. */
function pathsAlike({ paths }) {
  const parsed = Object.entries(paths).map(([path, methods]) => ({
    path,
    segments: path
      .replace(/\/$/, '')
      .split('/')
      .map((segment) => matcherOf(segment, methods)),
  }));
  return parsed.flatMap((one, index) =>
    parsed
      .slice(index + 1)
      .filter((other) => isAlike(one.segments, other.segments))
      .map((other) => `paths-alike ${one.path}: an address of ${other.path} fits it too`),
  );
}

/** The possible values of a segment: the word itself, any UUID, or anything. */
function matcherOf(segment, methods) {
  const name = /^\{(.+)\}$/.exec(segment)?.[1];
  if (name === undefined) return { word: segment };
  const declared = Object.values(methods)
    .flatMap(({ parameters = [] }) => parameters)
    .filter((parameter) => parameter.in === 'path' && parameter.name === name);
  return { isUuid: declared.length > 0 && declared.every((one) => one.schema?.format === 'uuid') };
}

function isAlike(some, others) {
  if (some.length !== others.length) return false;
  return some.every((one, index) => {
    const other = others[index];
    if (one.word === undefined && other.word === undefined) return true;
    if (one.word !== undefined && other.word !== undefined) return one.word === other.word;
    return !(one.isUuid ?? other.isUuid);
  });
}
