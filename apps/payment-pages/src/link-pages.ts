/** What the pages need of payment links. */
import type { PaymentLinks } from '@pis/commands';

export type {
  ExpiredLinkPayment,
  FoundLink,
  LinkPayment,
  NetworkVisitor,
  RefusedVisit,
  SubmissionRefusal,
  Visitor,
} from '@pis/commands';
export type LinkPages = Pick<PaymentLinks, 'find' | 'submit' | 'recordOpen' | 'recordRefusal'>;
