import {
  Body,
  Controller,
  Get,
  HttpCode,
  Inject,
  Post,
  Query,
  ServiceUnavailableException,
  UnprocessableEntityException,
} from '@nestjs/common';
import {
  type BankNotificationPage,
  BankRefused,
  type InquiryResult,
  type SubmissionResult,
  type VoidResult,
  bankPaths,
  describeIssues,
  feedQuerySchema,
  referenceSchema,
  transferInstructionSchema,
} from '@pis/bank-rails';
import { PublicRoute } from '@pis/service-kit';
import { BankSimulator } from './bank-simulator.js';

/** The bank's HTTP side (bank-wire.ts). Errors carry no values of the request: they hold account numbers. */
@Controller()
export class BankController {
  constructor(@Inject(BankSimulator) private readonly bank: BankSimulator) {}

  @PublicRoute('bank')
  @Post(bankPaths.transfers)
  @HttpCode(200)
  async submit(@Body() body: unknown): Promise<SubmissionResult> {
    return answer(async () => this.bank.submit(parsed(transferInstructionSchema, body)));
  }

  @PublicRoute('bank')
  @Post(bankPaths.inquiries)
  @HttpCode(200)
  async inquire(@Body() body: unknown): Promise<InquiryResult> {
    return answer(async () => this.bank.inquire(parsed(referenceSchema, body).reference));
  }

  @PublicRoute('bank')
  @Post(bankPaths.voids)
  @HttpCode(200)
  async void(@Body() body: unknown): Promise<VoidResult> {
    return answer(async () => this.bank.void(parsed(referenceSchema, body).reference));
  }

  @PublicRoute('bank')
  @Get(bankPaths.notifications)
  async notifications(@Query() query: unknown): Promise<BankNotificationPage> {
    return answer(async () => this.bank.notifications(parsed(feedQuerySchema, query)));
  }
}

/** As much of a zod schema as is needed here. */
interface Schema<Value> {
  safeParse(
    value: unknown,
  ):
    | { success: true; data: Value }
    | { success: false; error: Parameters<typeof describeIssues>[0] };
}

function parsed<Value>(schema: Schema<Value>, value: unknown): Value {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new BankRefused(describeIssues(result.error));
}

async function answer<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof BankRefused) throw new UnprocessableEntityException(error.message);
    // The books cannot be reached: the caller asks again.
    throw new ServiceUnavailableException('try again', { cause: error });
  }
}
