/** The output of `npm start` when it is ready: one line of JSON on stdout, and a banner on stderr. */
import { type DemoOrganization } from '@pis/commands';
import type { PlatformConfig } from '@pis/service-kit';

export interface ReadyLine {
  /** The address on which the app listens. */
  readonly url: string;
  /** Null in production. */
  readonly demo: DemoOrganization | null;
  readonly config: PlatformConfig & { readonly PIS_PUBLIC_URL?: string | undefined };
}

export function readyLine({ url, demo, config }: ReadyLine): string {
  const publicUrl = (config.PIS_PUBLIC_URL ?? url).replace(/\/$/, '');
  return JSON.stringify({
    ready: true,
    apiUrl: url,
    docsUrl: `${publicUrl}/docs`,
    organizationId: demo?.organizationId ?? null,
    apiKey: demo?.apiKey ?? null,
    originatorIds: demo?.originatorIds ?? [],
  });
}

export function banner(url: string, demo: DemoOrganization | null): string {
  const lines =
    demo === null
      ? ['production', keyLine('create one with: pis api-key create')]
      : ['sandbox', keyLine(demo.apiKey ?? 'the one shown when this data directory was created')];
  return `
  Payment Initiation Service, ${lines.join('\n')}
    API      ${url}/v1/
    health   ${url}/health/ready

  curl -H 'Authorization: Bearer ${demo?.apiKey ?? 'YOUR_KEY'}' ${url}/v1/originators/

`;
}

function keyLine(text: string): string {
  return `    API key  ${text}`;
}
