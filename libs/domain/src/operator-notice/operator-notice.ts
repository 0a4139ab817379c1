/**
 * Operator notice: what the system tells its operators on its own, as an event in the log. Whoever follows
 * the streams `operatorNotice-<id>` gets each notice once: the ID names what the notice is about, so giving
 * the same notice twice is refused.
 */
import { type Aggregate, type Decision, type DomainCommand, type DomainEvent } from '../decider.js';

/** What the notice is about: identifiers, counts and times; no secrets, no personal data. */
export type OperatorNoticeFacts = Readonly<Record<string, unknown>>;

export type OperatorNoticeName =
  | 'webhook endpoint failing'
  | 'fees not collected'
  | 'fees debited twice'
  | 'statement not generated';

export interface OperatorNotice {
  readonly notice: OperatorNoticeName;
  readonly subject: OperatorNoticeFacts;
}

export type OperatorNoticeEvent = DomainEvent<'OperatorNoticeGiven', OperatorNotice>;
export type OperatorNoticeState = (OperatorNotice & { readonly givenAt: string }) | null;
export type OperatorNoticeCommand = DomainCommand<'GiveOperatorNotice', OperatorNotice>;
export type OperatorNoticeRefusal = 'OPERATOR_NOTICE_ALREADY_GIVEN';

function decide(
  { at, data }: OperatorNoticeCommand,
  state: OperatorNoticeState,
): Decision<OperatorNoticeEvent, OperatorNoticeRefusal> {
  if (state !== null) return { refused: 'OPERATOR_NOTICE_ALREADY_GIVEN' };
  return [{ type: 'OperatorNoticeGiven', at, data }];
}

export const operatorNotice: Aggregate<
  OperatorNoticeState,
  OperatorNoticeCommand,
  OperatorNoticeEvent,
  OperatorNoticeRefusal
> = {
  category: 'operatorNotice',
  initial: null,
  decide,
  evolve: (_state, { data, at }) => ({ ...data, givenAt: at }),
  schemaVersions: { OperatorNoticeGiven: 1 },
};
