/** The texts in English. The names of headings, fields and buttons are an interface: tests and users rely on them. */
import type { Texts } from './texts.js';

const uncertain =
  'It is not certain whether your bank details were saved. Open the link again in a moment: it shows the status of the payment if they were, and the form if not.';

export const english: Texts = {
  locale: 'en-US',
  languageName: 'English',
  languageSwitch: 'Language',
  skipToContent: 'Skip to content',
  footer: 'Bank details are encrypted and are used for this payment only.',
  details: {
    heading: 'Payment details',
    introduction: (direction, originator) =>
      direction === 'INBOUND'
        ? `${originator} requests a payment from you. Enter the bank account to pay from.`
        : `${originator} wants to send you a payment. Enter the bank account to receive it.`,
    originator: { INBOUND: 'Requested by', OUTBOUND: 'Sent by' },
    holder: 'Account holder',
    holderNote: 'The bank account must belong to this account holder.',
    amount: { INBOUND: 'Requested amount', OUTBOUND: 'Amount' },
    fee: 'Processing fee',
    total: 'Total',
    note: 'Note',
    expires: 'Link valid until',
    bank: 'Bank',
    erased: 'Deleted',
    unpayable: (originator) =>
      `This payment cannot be made: the name of the account holder has no letter or digit that banks can receive. Nothing can be submitted here. Ask ${originator} for a new link, with the name in Latin letters.`,
  },
  form: {
    heading: 'Your bank account',
    addressHeading: 'Legal address of the account holder',
    accountType: 'Account type',
    chooseAccountType: 'Choose one',
    checking: 'Checking',
    savings: 'Savings',
    routingNumber: 'Routing number',
    routingNumberHint: '9 digits. On a check, the first number at the bottom left.',
    accountNumber: 'Account number',
    accountNumberHint: '4 to 17 digits.',
    confirmAccountNumber: 'Confirm account number',
    addressLine1: 'Address line 1',
    city: 'City',
    state: 'State',
    stateHint: 'Two letters in the US.',
    postalCode: 'ZIP code',
    postalCodeHint: 'Five digits in the US.',
    country: 'Country',
    submit: 'Submit bank details',
    submitting: 'Submitting…',
    consent: (direction, originator, total) =>
      direction === 'INBOUND'
        ? `By submitting, you authorize ${originator} to debit ${total} once from this account.`
        : `By submitting, you ask ${originator} to send ${total} to this account.`,
    problems: 'Check the form',
    errorTitle: 'Error',
  },
  issues: {
    required: 'Fill in this field.',
    accountNumberMismatch: 'The two account numbers differ. Enter the same number twice.',
    other: 'Check this value and enter it again.',
    byCode: {
      validation_enum: 'Choose one of the options.',
      validation_routing_number: 'No US bank has this routing number. Enter its 9 digits.',
      validation_account_number: 'Enter an account number of 4 to 17 digits.',
      validation_max_length: 'This is too long.',
      validation_state: 'Enter the two letters of a US state, for example CA.',
      validation_postal_code: 'Enter a ZIP code of 5 digits.',
      validation_country_code: 'Choose a country.',
    },
  },
  status: {
    heading: 'Payment status',
    current: 'Status',
    updated: 'Since',
    refresh: 'Check again',
    alreadySubmitted:
      'Bank details were already submitted for this payment. Only the first submission counts. What you entered now was not saved.',
    names: {
      QUEUED: 'Queued',
      PROCESSING: 'Processing',
      COMPLETED: 'Completed',
      FAILED: 'Failed',
      FAILED_IN_FLIGHT: 'Under review',
      BLOCKED: 'Not processed',
      RETURNED: 'Returned',
    },
    explanations: (direction) => ({
      QUEUED: 'The bank details were received. The payment will be sent to the bank.',
      PROCESSING: 'The payment is being sent to the bank.',
      COMPLETED:
        direction === 'INBOUND'
          ? 'The payment was handed to the banks. The debit usually shows in your account within 1 to 2 business days.'
          : 'The payment was handed to the banks. It usually arrives within 1 to 2 business days.',
      FAILED: 'The payment failed. No money was moved.',
      FAILED_IN_FLIGHT: 'The bank has not confirmed the payment yet. It is under review.',
      BLOCKED: 'The payment was stopped by a review. No money was moved.',
      RETURNED: 'The bank returned the payment.',
    }),
  },
  expired: {
    heading: 'This link has expired',
    text: (direction, originator) =>
      direction === 'INBOUND'
        ? `${originator} created this link to request a payment.`
        : `${originator} created this link to send a payment.`,
    way: 'Nothing can be submitted anymore. Ask for a new link.',
  },
  errors: {
    notFound: {
      heading: 'Page not found',
      text: 'There is no such link. Check that you copied the whole address, or ask for a new link.',
      formText: 'There is no such link, or it was canceled. Nothing was saved. Ask for a new link.',
    },
    forbidden: {
      heading: 'The form could not be accepted',
      text: 'It was not sent from this page. Open the link again and fill in the form there. Nothing was saved.',
    },
    tooMany: {
      heading: 'Too many requests',
      text: 'This page was opened too often. Wait a moment and try again.',
      formText:
        'This page was opened too often. Nothing was saved. Wait a moment, open the link again, and fill in the form there.',
    },
    away: {
      heading: 'Temporarily unavailable',
      text: 'The service cannot answer right now. Try again in a moment.',
      formText: uncertain,
    },
    notReadable: {
      heading: 'The form could not be read',
      text: 'Open the link again and fill in the form there. Nothing was saved.',
    },
    other: {
      heading: 'Something went wrong',
      text: 'Try again in a moment.',
      formText: uncertain,
    },
  },
};
