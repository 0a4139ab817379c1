/** The statement of the bank for one day, as a customer fetches it: for `pis reconcile`. */
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import {
  BadRequestException,
  Controller,
  Get,
  Inject,
  Query,
  StreamableFile,
} from '@nestjs/common';
import { isCalendarDate } from '@pis/bank-statements';
import {
  type BankStatementFormat,
  bankStatementFormats,
  bankToday,
  writeBankStatement,
} from '@pis/bank-statements/sandbox';
import { LOGGER, type Logger, PG_POOL, PublicRoute } from '@pis/service-kit';
import type pg from 'pg';

/** Beside those of bank-wire.ts, which the connection uses. */
export const bankStatementsPath = '/bank/statements';

const contentTypes = {
  camt053: 'application/xml; charset=utf-8',
  bai2: 'text/plain; charset=us-ascii',
} as const satisfies Record<BankStatementFormat, string>;

@Controller()
export class BankStatementsController {
  constructor(
    @Inject(PG_POOL) private readonly pool: pg.Pool,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  @PublicRoute('bank')
  @Get(bankStatementsPath)
  statement(@Query() query: Readonly<Record<string, unknown>>): StreamableFile {
    const { date = bankToday(), format: asked = 'camt053' } = query;
    const format = bankStatementFormats.find((one) => one === asked);
    if (format === undefined)
      throw new BadRequestException(`format: ${bankStatementFormats.join(' or ')}`);
    if (typeof date !== 'string' || !date.startsWith('20') || !isCalendarDate(date))
      throw new BadRequestException('date: YYYY-MM-DD');
    const text = new PassThrough();
    // The caller sees a file that breaks off.
    void this.write({ date, format }, text).catch((error: unknown) => {
      this.logger.warn({ err: error, date }, 'a statement of the simulated bank was not written');
      text.destroy(error instanceof Error ? error : new Error(String(error)));
    });
    return new StreamableFile(text, { type: contentTypes[format] });
  }

  /** As fast as the caller reads. */
  private async write(
    asked: { readonly date: string; readonly format: BankStatementFormat },
    text: PassThrough,
  ): Promise<void> {
    const gone = new AbortController();
    text.once('close', () => gone.abort());
    await writeBankStatement(this.pool, asked, async (chunk) => {
      gone.signal.throwIfAborted();
      if (!text.write(chunk)) await once(text, 'drain', { signal: gone.signal });
    });
    text.end();
  }
}
