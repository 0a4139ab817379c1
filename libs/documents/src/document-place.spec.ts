import { parseDocumentPlace } from './document-place.js';

describe('PIS_DOCUMENT_STORE', () => {
  it('names PostgreSQL, or a bucket with a prefix', () => {
    expect(parseDocumentPlace('postgres')).toBe('postgres');
    const amazon = { endpoint: null, region: null, pathStyle: false };
    expect(parseDocumentPlace('s3://docs')).toEqual({ bucket: 'docs', prefix: '', ...amazon });
    expect(parseDocumentPlace('s3://my.docs/a/b-1/?region=eu-central-1')).toEqual({
      ...{ bucket: 'my.docs', prefix: 'a/b-1', ...amazon, region: 'eu-central-1' },
    });
  });

  it('puts the bucket into the path for another endpoint, unless told otherwise', () => {
    const other = 's3://docs?endpoint=https://minio.example:9000';
    expect(parseDocumentPlace(other)).toMatchObject({
      ...{ endpoint: 'https://minio.example:9000/', region: 'us-east-1', pathStyle: true },
    });
    expect(parseDocumentPlace(`${other}&pathStyle=false`)).toMatchObject({ pathStyle: false });
  });

  it('takes plain http of this machine, and of others only when that is allowed', () => {
    for (const endpoint of ['http://127.0.0.1:9000/', 'http://localhost/', 'http://[::1]:9000/'])
      expect(parseDocumentPlace(`s3://docs?endpoint=${endpoint}`)).toMatchObject({ endpoint });
    const other = 's3://docs?endpoint=http://minio.internal:9000';
    expect(() => parseDocumentPlace(other)).toThrow('its endpoint must be https');
    expect(() => parseDocumentPlace(`${other}&allowHttp=false`)).toThrow('must be https');
    expect(parseDocumentPlace(`${other}&allowHttp=true`)).toMatchObject({
      endpoint: 'http://minio.internal:9000/',
    });
  });

  it.each([
    ['', 'must be postgres'],
    ['s3', 'must be postgres'],
    ['https://docs', 'must be postgres'],
    ['s3://', 'must name a bucket'],
    ['s3://Docs', 'must name a bucket'],
    ['s3://docs:9000', 'must name a bucket'],
    ['s3://key:secret@docs', 'must not hold credentials'],
    ['s3://docs/a//b', 'its prefix'],
    ['s3://docs/a%20b', 'its prefix'],
    ['s3://docs?region=EU', 'its region'],
    ['s3://docs?regoin=eu', 'each of these options once'],
    ['s3://docs?region=a&region=b', 'each of these options once'],
    ['s3://docs?endpoint=minio:9000', 'its endpoint'],
    ['s3://docs?endpoint=https://key:secret@minio', 'its endpoint'],
    ['s3://docs?pathStyle=yes', 'its pathStyle'],
    ['s3://docs?allowHttp=yes', 'its allowHttp'],
  ])('does not take %j', (text, problem) => {
    expect(() => parseDocumentPlace(text)).toThrow(problem);
    expect(() => parseDocumentPlace(text)).not.toThrow('secret');
  });
});
