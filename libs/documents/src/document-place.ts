/** Where documents are kept: the form of the setting PIS_DOCUMENT_STORE. Loads nothing else. */

export interface S3Place {
  readonly bucket: string;
  /** Without a slash at its ends. Empty: the documents are at the top of the bucket. */
  readonly prefix: string;
  /** Null: Amazon S3 in the region. */
  readonly endpoint: string | null;
  /** Null: from the usual AWS variables and files. */
  readonly region: string | null;
  /** Whether the bucket is in the path of a request, not in its host name. */
  readonly pathStyle: boolean;
}

export type DocumentPlace = 'postgres' | S3Place;

const bucketForm = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const prefixForm = /^(?:[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*)?$/;
const prefixMax = 200;
const options = ['endpoint', 'region', 'pathStyle', 'allowHttp'];
/** Requests to this machine cross no network. */
const ownHosts: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];
/** Most servers other than Amazon's ignore the region, but a request is always signed for one. */
const regionOfEndpoints = 'us-east-1';

/**
 * @param text `postgres`, or `s3://bucket/prefix?endpoint=https://…&region=…&pathStyle=true|false&allowHttp=true`
 * @throws Error that says what is wrong, without credentials that were written into it
 */
export function parseDocumentPlace(text: string): DocumentPlace {
  if (text === 'postgres') return 'postgres';
  if (!text.startsWith('s3://') || !URL.canParse(text))
    throw new Error('must be postgres, or s3://bucket/prefix');
  const url = new URL(text);
  if (url.username !== '' || url.password !== '')
    throw new Error('must not hold credentials: they come from the usual AWS variables');
  if (!bucketForm.test(url.hostname) || url.port !== '')
    throw new Error('must name a bucket: s3://bucket/prefix');
  const prefix = url.pathname.replace(/^\//, '').replace(/\/$/, '');
  if (prefix.length > prefixMax || !prefixForm.test(prefix))
    throw new Error(`its prefix must be at most ${prefixMax} of A-Z a-z 0-9 . _ - and slashes`);
  const given = url.searchParams;
  for (const name of given.keys())
    if (!options.includes(name) || given.getAll(name).length > 1)
      throw new Error(`may have each of these options once: ${options.join(', ')}`);
  const allowHttp = given.get('allowHttp') ?? 'false';
  if (allowHttp !== 'true' && allowHttp !== 'false')
    throw new Error('its allowHttp must be true or false');
  const endpoint = endpointIn(given.get('endpoint'), allowHttp === 'true');
  const region = given.get('region');
  if (region !== null && !/^[a-z0-9-]{1,50}$/.test(region))
    throw new Error('its region must be a name such as eu-central-1');
  const pathStyle = given.get('pathStyle') ?? String(endpoint !== null);
  if (pathStyle !== 'true' && pathStyle !== 'false')
    throw new Error('its pathStyle must be true or false');
  return {
    ...{ bucket: url.hostname, prefix, endpoint },
    region: region ?? (endpoint === null ? null : regionOfEndpoints),
    pathStyle: pathStyle === 'true',
  };
}

function endpointIn(text: string | null, allowsHttp: boolean): string | null {
  if (text === null) return null;
  const url = URL.canParse(text) ? new URL(text) : null;
  const isPlain = url !== null && url.username === '' && url.password === '' && url.search === '';
  if (!isPlain || !['http:', 'https:'].includes(url.protocol))
    throw new Error('its endpoint must be an http or https URL without credentials');
  if (url.protocol === 'http:' && !allowsHttp && !ownHosts.includes(url.hostname))
    throw new Error('its endpoint must be https; add allowHttp=true for a network that you trust');
  return url.href;
}
