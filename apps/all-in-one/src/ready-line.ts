/** The output of `npm start` when it is ready: one line of JSON on stdout, and a banner on stderr. */
import { demoUserId } from '@pis/commands';
import type { PlatformConfig } from '@pis/service-kit';
import type { SandboxDemo } from './sandbox-demo.js';

export interface ReadyLine {
  /** The address on which the app listens. */
  readonly url: string;
  /** Null in production. */
  readonly demo: SandboxDemo | null;
  readonly config: PlatformConfig & { readonly PIS_PUBLIC_URL?: string | undefined };
}

/** The key and the password are in this line and in the banner, and nowhere else. */
export function readyLine({ url, demo, config }: ReadyLine): string {
  return JSON.stringify({
    ready: true,
    apiUrl: url,
    docsUrl: `${publicUrlOf({ url, config })}/docs`,
    dashboardUrl: dashboardUrlOf({ url, config }),
    dashboardUser: demo?.user ?? null,
    organizationId: demo?.organizationId ?? null,
    apiKey: demo?.apiKey ?? null,
    originatorIds: demo?.originatorIds ?? [],
  });
}

export function banner({ url, demo, config }: ReadyLine): string {
  return `
  Payment Initiation Service, ${demo === null ? 'production' : 'sandbox'}
    API        ${url}/v1/
    API key    ${keyText(demo)}
    dashboard  ${dashboardUrlOf({ url, config })}
    user       ${userText(demo)}
    health     ${url}/health/ready

  curl -H 'Authorization: Bearer ${demo?.apiKey ?? 'YOUR_KEY'}' ${url}/v1/originators/

`;
}

function keyText(demo: SandboxDemo | null): string {
  if (demo === null) return 'create one with: ./pis api-key create';
  return demo.apiKey ?? 'the one shown when this data directory was created';
}

function userText(demo: SandboxDemo | null): string {
  if (demo === null) return 'create one with: ./pis user create';
  if (demo.user !== null) return `${demo.user.email}, password ${demo.user.password}`;
  return `as shown when it was created; for a new password: ./pis user reset --id ${demoUserId}`;
}

type Addressed = Pick<ReadyLine, 'url' | 'config'>;

function dashboardUrlOf(addressed: Addressed): string {
  return `${publicUrlOf(addressed)}/dashboard/`;
}

function publicUrlOf({ url, config }: Addressed): string {
  return (config.PIS_PUBLIC_URL ?? url).replace(/\/$/, '');
}
