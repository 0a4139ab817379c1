/** `pis exports`: creates exports, shows their progress and downloads their files, through the public API. */
import {
  exportFormats,
  exportKinds,
  type ExportCreatedView,
  type ExportKind,
  type ExportFormat,
  type ExportView,
} from '@pis/contracts';
import { Command, Option } from 'commander';
import { downloadExport, type ExportSource } from '../exports/download.js';
import { idGiven } from '../operator-action.js';
import { type OutputOptions, print, withJson } from '../output.js';
import { type ApiOptions, PublicApi } from '../webhooks/public-api.js';

type Options = OutputOptions & ApiOptions;

interface CreateOptions extends Options {
  readonly kind: ExportKind;
  readonly format: ExportFormat;
  readonly from?: string;
  readonly to?: string;
  readonly originator?: string;
}

interface DownloadOptions extends Options {
  readonly id: string;
  readonly out: string;
}

export function exportCommands(): Command {
  const exports = new Command('exports').description(
    'files of records, with the API key of their organization (PIS_API_KEY)',
  );
  withApi(
    exports
      .command('create')
      .description('begin an export')
      .addOption(
        new Option('--kind <kind>', 'of records').choices(exportKinds).makeOptionMandatory(),
      )
      .addOption(
        new Option('--format <format>', 'bai2 and camt053 are for movements only')
          .choices(exportFormats)
          .makeOptionMandatory(),
      )
      .option('--from <time>', 'first time of creation, ISO 8601')
      .option('--to <time>', 'last time of creation, inclusive')
      .option('--originator <id>', 'only records of this originator'),
  ).action(create);
  withApi(
    exports
      .command('show')
      .description('show the status and the progress of an export')
      .requiredOption('--id <id>', 'export ID'),
  ).action(async (options: Options & { id: string }) => {
    print(await sourceOf(options).get(), options);
  });
  withApi(
    exports
      .command('download')
      .description('wait for an export and download its file; run it again to resume')
      .requiredOption('--id <id>', 'export ID')
      .requiredOption('--out <file>', 'where the file is written; an existing one is replaced'),
  ).action(download);
  return exports;
}

function withApi(command: Command): Command {
  return withJson(command).option(
    '--api-url <url>',
    'base URL of the service; default: PIS_PUBLIC_URL, or this machine',
  );
}

async function create(options: CreateOptions): Promise<void> {
  const { kind, format, from, to, originator } = options;
  const originatorId = originator === undefined ? undefined : idGiven('--originator', originator);
  const body = { kind, format, from, to, originatorId };
  print(
    await PublicApi.from(options).data<ExportCreatedView>('POST', '/v1/exports', body),
    options,
  );
}

async function download(options: DownloadOptions): Promise<void> {
  const notice = (text: string) => void process.stderr.write(`pis: ${text}\n`);
  print(await downloadExport(sourceOf(options), options.out, { notice }), options);
}

function sourceOf(options: Options & { readonly id: string }): ExportSource {
  const api = PublicApi.from(options);
  const path = `/v1/exports/${idGiven('--id', options.id)}`;
  return {
    get: () => api.data<ExportView>('GET', path),
    read: (range) => api.range(`${path}/file`, range),
  };
}
