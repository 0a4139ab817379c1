/** The page of a link that nobody has used yet: the payment, and the form for the bank account. */
import type { ReactNode } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import type { FieldName, FieldProblem, FormValues } from '../bank-details-form.js';
import type { Language } from '../language.js';
import type { LinkPayment } from '../link-pages.js';
import { textsIn } from '../texts/texts-in.js';
import type { Texts } from '../texts/texts.js';
import { CountryField, SelectField, TextField } from './fields.js';
import { issueText } from './issue-text.js';
import { PaymentFacts, totalText } from './payment-facts.js';

export interface OpenLinkProps {
  readonly language: Language;
  readonly payment: LinkPayment;
  /** The value that proves where the form came from. */
  readonly formToken: string;
  /** Without account numbers. */
  readonly values: FormValues;
  readonly problems: readonly FieldProblem[];
  /** Of the routing number in `values`, if it is known. */
  readonly bankName: string | null;
}

export function OpenLink(props: OpenLinkProps) {
  const { language, payment, problems } = props;
  const texts = textsIn[language];
  const originator = payment.originatorName ?? texts.details.erased;
  return (
    <>
      <h1>{texts.details.heading}</h1>
      <p className="introduction">{texts.details.introduction(payment.direction, originator)}</p>
      {problems.length > 0 ? <ProblemSummary problems={problems} texts={texts} /> : null}
      <PaymentFacts payment={payment} texts={texts} showsExpiry />
      <BankDetails {...props} texts={texts} originator={originator} />
    </>
  );
}

function ProblemSummary({
  problems,
  texts,
}: {
  readonly problems: readonly FieldProblem[];
  readonly texts: Texts;
}) {
  return (
    <div className="notice problem" role="alert" tabIndex={-1} data-problems>
      <h2>{texts.form.problems}</h2>
      <ul>
        {problems.map(({ field, issue }) => (
          <li key={field}>
            <a href={`#${field}`}>
              {labelOf(field, texts)}: {issueText(issue, texts)}
            </a>
          </li>
        ))}
      </ul>
    </div>
  );
}

function labelOf(field: FieldName, { form }: Texts): string {
  const labels: Readonly<Record<FieldName, string>> = {
    subType: form.accountType,
    achRoutingNumber: form.routingNumber,
    achAccountNumber: form.accountNumber,
    achAccountNumberConfirmation: form.confirmAccountNumber,
    addressLine1: form.addressLine1,
    city: form.city,
    state: form.state,
    postalCode: form.postalCode,
    countryCode: form.country,
  };
  return labels[field];
}

type BankDetailsProps = OpenLinkProps & { readonly texts: Texts; readonly originator: string };

function BankDetails(props: BankDetailsProps) {
  const { language, payment, formToken, texts, originator } = props;
  const { form, issues } = texts;
  return (
    <form
      method="post"
      noValidate
      autoComplete="off"
      data-bank-details
      data-mismatch={issues.accountNumberMismatch}
      data-submitting={form.submitting}
    >
      <input type="hidden" name="formToken" value={formToken} />
      {parts.map((Part) =>
        isEmpty(props) ? (
          <fieldset
            key={Part.name}
            dangerouslySetInnerHTML={{ __html: emptyHtml(Part, language) }}
          />
        ) : (
          <fieldset key={Part.name}>
            <Part {...props} />
          </fieldset>
        ),
      )}
      <p className="consent">{form.consent(payment.direction, originator, totalText(payment))}</p>
      <button type="submit">{form.submit}</button>
    </form>
  );
}

/** What the fields of the form depend on: nothing of the payment. */
type FilledFields = Pick<OpenLinkProps, 'language' | 'values' | 'problems' | 'bankName'>;

function isEmpty({ values, problems, bankName }: FilledFields): boolean {
  return Object.keys(values).length === 0 && problems.length === 0 && bankName === null;
}

const emptyForms = new Map<Language, Map<FormPart, string>>();

/** Rendered once for each language: the fields of an empty form take as long as the rest of the page. */
function emptyHtml(Part: FormPart, language: Language): string {
  const known = emptyForms.get(language) ?? new Map<FormPart, string>();
  emptyForms.set(language, known);
  const html =
    known.get(Part) ??
    renderToStaticMarkup(<Part language={language} values={{}} problems={[]} bankName={null} />);
  known.set(Part, html);
  return html;
}

type FormPart = (props: FilledFields) => ReactNode;

/** The inside of each fieldset. */
const parts: readonly FormPart[] = [AccountFields, AddressFields];

function AccountFields({ language, values, problems, bankName }: FilledFields) {
  const texts = textsIn[language];
  const { form, details } = texts;
  const field = (name: FieldName) => fieldProps(name, { texts, values, problems });
  const accountTypes = [
    ['CHECKING', form.checking],
    ['SAVINGS', form.savings],
  ] as const;
  return (
    <>
      <legend>
        <h2>{form.heading}</h2>
      </legend>
      <p className="hint">{details.holderNote}</p>
      <SelectField {...field('subType')} prompt={form.chooseAccountType} options={accountTypes} />
      <TextField
        {...field('achRoutingNumber')}
        hint={form.routingNumberHint}
        kind="digits"
        bank={{ name: bankName, label: details.bank }}
      />
      <TextField {...field('achAccountNumber')} hint={form.accountNumberHint} kind="digits" />
      <TextField {...field('achAccountNumberConfirmation')} kind="digits" />
    </>
  );
}

function AddressFields({ language, values, problems }: FilledFields) {
  const texts = textsIn[language];
  const { form } = texts;
  const field = (name: FieldName) => fieldProps(name, { texts, values, problems });
  return (
    <>
      <legend>
        <h2>{form.addressHeading}</h2>
      </legend>
      <TextField {...field('addressLine1')} complete="address-line1" />
      <TextField {...field('city')} complete="address-level2" />
      <div className="pair">
        <TextField {...field('state')} hint={form.stateHint} complete="address-level1" />
        <TextField {...field('postalCode')} hint={form.postalCodeHint} complete="postal-code" />
      </div>
      <CountryField {...field('countryCode')} language={language} />
    </>
  );
}

function fieldProps(
  name: FieldName,
  {
    texts,
    values,
    problems,
  }: Pick<FilledFields, 'values' | 'problems'> & { readonly texts: Texts },
) {
  const problem = problems.find((one) => one.field === name);
  return {
    name,
    label: labelOf(name, texts),
    value: values[name] ?? '',
    ...(problem === undefined
      ? {}
      : { problem: { ...problem, text: issueText(problem.issue, texts) } }),
  };
}
