/** What `npm start` says once it is ready: one line of JSON on stdout, a banner for people on stderr. */
import type { DemoOrganization, PlatformConfig } from '@pis/service-kit';

export function readyLine(
  url: string,
  demo: DemoOrganization,
  config: PlatformConfig & { readonly PIS_PUBLIC_URL?: string | undefined },
): string {
  const publicUrl = (config.PIS_PUBLIC_URL ?? url).replace(/\/$/, '');
  return JSON.stringify({
    ready: true,
    apiUrl: url,
    dashboardUrl: `${publicUrl}/dashboard/`,
    docsUrl: `${publicUrl}/docs`,
    organizationId: demo.organizationId,
    apiKey: demo.apiKey,
    originatorIds: demo.originatorIds,
  });
}

export function banner(url: string, demo: DemoOrganization): string {
  const key =
    demo.apiKey === null ? 'the one shown when this data directory was created' : demo.apiKey;
  return `
  Payment Initiation Service, sandbox
    API      ${url}/v1/
    API key  ${key}
    health   ${url}/health/ready

  curl -H 'Authorization: Bearer ${demo.apiKey ?? 'YOUR_KEY'}' ${url}/v1/originators/

`;
}
