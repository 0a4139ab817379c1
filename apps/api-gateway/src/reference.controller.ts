/**
 * The API reference: /openapi.json, and /docs, which shows it with Scalar. This host serves everything that
 * the page needs, and its content security policy blocks all other hosts. Both are public and need no key.
 */
import { hash } from 'node:crypto';
import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import { openApiDocument, type OpenApiOptions } from '@pis/contracts';
import { PublicRoute } from '@pis/service-kit';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ScalarScript } from './scalar-script.js';
import { OPENAPI_OPTIONS } from './tokens.js';

/** Disables the features of Scalar that use its vendor's hosts. */
const scalarOptions = {
  withDefaultFonts: false,
  telemetry: false,
  proxyUrl: '',
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
  hideClientButton: true,
  documentDownloadType: 'direct',
  persistAuth: false,
};

/** Addresses are relative to /docs, so that they work below any prefix of a proxy. */
const start = `Scalar.createApiReference('#app', {
  ...${JSON.stringify(scalarOptions)},
  url: new URL('openapi.json', document.baseURI).href,
});`;

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Payment Initiation Service: API reference</title>
    <link rel="icon" href="data:,">
  </head>
  <body>
    <div id="app"></div>
    <noscript>This page needs JavaScript. The same in JSON: <a href="openapi.json">openapi.json</a>.</noscript>
    <script src="docs/scalar.js"></script>
    <script>${start}</script>
  </body>
</html>
`;

/** Scalar creates style elements and attributes. */
function contentSecurityPolicy(publicUrl: string | undefined): string {
  const api = publicUrl === undefined ? [] : [new URL(publicUrl).origin];
  return [
    "default-src 'none'",
    `script-src 'self' 'sha256-${hash('sha256', start, 'base64')}'`,
    "style-src 'unsafe-inline'",
    "img-src 'self' data: blob:",
    `connect-src ${["'self'", ...api].join(' ')}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

@Controller()
export class ReferenceController {
  /** Bytes are shared by all readers. A string would be copied for each slow reader. */
  private document: Buffer | undefined;
  private readonly policy: string;

  constructor(
    @Inject(OPENAPI_OPTIONS) private readonly options: OpenApiOptions,
    @Inject(ScalarScript) private readonly script: ScalarScript,
  ) {
    this.policy = contentSecurityPolicy(options.publicUrl);
  }

  @Get('openapi.json')
  @PublicRoute('docs')
  openApi(@Res({ passthrough: true }) reply: FastifyReply): Buffer {
    reply.type('application/json; charset=utf-8');
    this.document ??= Buffer.from(JSON.stringify(openApiDocument(this.options)));
    return this.document;
  }

  @Get('docs')
  @PublicRoute('docs')
  docs(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): string | undefined {
    const [path = ''] = request.url.split('?', 1);
    if (path.endsWith('/')) {
      reply.code(308).header('Location', '../docs');
      return undefined;
    }
    reply.type('text/html; charset=utf-8');
    reply.header('Content-Security-Policy', this.policy);
    reply.header('Referrer-Policy', 'no-referrer');
    return page;
  }

  @Get('docs/scalar.js')
  @PublicRoute('docs')
  async scalar(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer | undefined> {
    const { gzipped, etag } = this.script.read();
    // Clients revalidate each time, and transfer it only after a change.
    reply.headers({ ETag: etag, 'Cache-Control': 'no-cache', Vary: 'Accept-Encoding' });
    if (request.headers['if-none-match'] === etag) {
      reply.code(304);
      return undefined;
    }
    reply.type('text/javascript; charset=utf-8');
    if (!/\bgzip\b/.test(request.headers['accept-encoding']?.toString() ?? ''))
      return this.script.plain();
    reply.header('Content-Encoding', 'gzip');
    return gzipped;
  }
}
