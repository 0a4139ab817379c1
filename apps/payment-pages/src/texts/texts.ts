/** The texts of the pages. A language that lacks one does not compile. */
import type { Direction, PaymentStatus } from '@pis/domain';

/** The statuses of a payment whose link was used. */
export type ShownStatus = Exclude<PaymentStatus, 'AWAITING_CONFIRMATION' | 'CANCELED'>;

export interface Texts {
  /** How dates are written. */
  readonly locale: string;
  /** The name of the language in itself. */
  readonly languageName: string;
  readonly languageSwitch: string;
  readonly skipToContent: string;
  readonly footer: string;
  readonly details: {
    readonly heading: string;
    readonly introduction: (direction: Direction, originator: string) => string;
    readonly originator: Readonly<Record<Direction, string>>;
    readonly holder: string;
    readonly holderNote: string;
    readonly amount: Readonly<Record<Direction, string>>;
    readonly fee: string;
    readonly total: string;
    readonly note: string;
    readonly expires: string;
    readonly bank: string;
    readonly erased: string;
    /** No bank can get the name of the account holder. */
    readonly unpayable: (originator: string) => string;
  };
  readonly form: {
    readonly heading: string;
    readonly addressHeading: string;
    readonly accountType: string;
    readonly chooseAccountType: string;
    readonly checking: string;
    readonly savings: string;
    readonly routingNumber: string;
    readonly routingNumberHint: string;
    readonly accountNumber: string;
    readonly accountNumberHint: string;
    readonly confirmAccountNumber: string;
    readonly addressLine1: string;
    readonly city: string;
    readonly state: string;
    readonly stateHint: string;
    readonly postalCode: string;
    readonly postalCodeHint: string;
    readonly country: string;
    readonly submit: string;
    readonly submitting: string;
    readonly consent: (direction: Direction, originator: string, total: string) => string;
    readonly problems: string;
    readonly errorTitle: string;
  };
  readonly issues: {
    readonly required: string;
    readonly accountNumberMismatch: string;
    readonly other: string;
    /** By the code of the API. */
    readonly byCode: Readonly<Record<string, string>>;
  };
  readonly status: {
    readonly heading: string;
    readonly current: string;
    readonly updated: string;
    readonly refresh: string;
    readonly alreadySubmitted: string;
    readonly names: Readonly<Record<ShownStatus, string>>;
    readonly explanations: (direction: Direction) => Readonly<Record<ShownStatus, string>>;
  };
  readonly expired: {
    readonly heading: string;
    readonly text: (direction: Direction, originator: string) => string;
    readonly way: string;
  };
  /** Of an error, by its HTTP status; `other` for any other. */
  readonly errors: Readonly<Record<ErrorKind, ErrorTexts>>;
}

interface ErrorTexts {
  readonly heading: string;
  readonly text: string;
  /** Instead of `text` when a form was sent. */
  readonly formText?: string;
}

export type ErrorKind = 'notFound' | 'forbidden' | 'tooMany' | 'away' | 'notReadable' | 'other';
