/** Where the banks of PIS_BANKS_FILE are reached. */
import type { Banks } from './bank-config.js';

export interface BankHost {
  /** A name, or an address without brackets. */
  readonly host: string;
  readonly port: number;
}

const httpsPort = 443;
const httpPort = 80;

export function bankHosts({ connections }: Banks): readonly BankHost[] {
  return connections.map(({ protocol }) => {
    if (protocol.kind === 'sftp') return { host: protocol.host, port: protocol.port };
    const { hostname, port, protocol: scheme } = new URL(protocol.baseUrl);
    const usual = scheme === 'https:' ? httpsPort : httpPort;
    return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? usual : Number(port) };
  });
}
