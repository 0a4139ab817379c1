/** Fields of a form, each with its label, its hint and its problem. */
import type { ReactNode } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import type { FieldName } from '../bank-details-form.js';
import { countriesIn } from '../countries.js';
import type { Language } from '../language.js';

interface FieldProps {
  readonly name: FieldName;
  readonly label: string;
  readonly value: string;
  readonly hint?: string;
  readonly problem?: { readonly issue: string; readonly text: string };
}

/** Without a maximum length: a browser would cut what is pasted, and part of an account number is another one. */
interface TextFieldProps extends FieldProps {
  /** Digits show a keypad on a phone, and no browser remembers them. */
  readonly kind?: 'text' | 'digits';
  readonly complete?: string;
  /** Where the name of the bank is shown. */
  readonly bank?: { readonly name: string | null; readonly label: string };
}

export function TextField({ kind = 'text', complete = 'off', bank, ...props }: TextFieldProps) {
  const { name, value } = props;
  return (
    <Field {...props} extra={bank === undefined ? null : <Bank field={name} {...bank} />}>
      <input
        type="text"
        id={name}
        name={name}
        defaultValue={value}
        autoComplete={complete}
        required
        {...(kind === 'digits' ? digits : {})}
        {...described(props, bank !== undefined)}
      />
    </Field>
  );
}

const digits = { inputMode: 'numeric', spellCheck: false, autoCapitalize: 'off' } as const;

function Bank({
  field,
  name,
  label,
}: {
  readonly field: FieldName;
  readonly name: string | null;
  readonly label: string;
}) {
  return (
    <p className="bank" id={`${field}-bank`} aria-live="polite" data-bank data-label={label}>
      {name === null ? null : `${label}: ${name}`}
    </p>
  );
}

interface SelectFieldProps extends FieldProps {
  readonly prompt: string;
  readonly options: readonly (readonly [value: string, text: string])[];
}

export function SelectField({ prompt, options, ...props }: SelectFieldProps) {
  const { name, value } = props;
  return (
    <Field {...props}>
      <select
        id={name}
        name={name}
        defaultValue={value}
        autoComplete="off"
        required
        {...described(props)}
      >
        <option value="">{prompt}</option>
        {options.map(([code, text]) => (
          <option key={code} value={code}>
            {text}
          </option>
        ))}
      </select>
    </Field>
  );
}

const homeCountry = 'US';

export function CountryField({ language, ...props }: FieldProps & { readonly language: Language }) {
  const { name, value } = props;
  const html = optionsHtml(language, value === '' ? homeCountry : value);
  return (
    <Field {...props}>
      <select
        id={name}
        name={name}
        autoComplete="country"
        required
        {...described(props)}
        dangerouslySetInnerHTML={{ __html: html }}
      />
    </Field>
  );
}

const countryCodeForm = /^[A-Z]{2}$/;
const optionsIn = new Map<Language, string>();

function optionsHtml(language: Language, selected: string): string {
  const html = unselectedOptionsHtml(language);
  // What was typed is never put into the HTML: it only selects one of the options.
  if (!countryCodeForm.test(selected)) return html;
  const value = `value="${selected}"`;
  const start = html.indexOf(value);
  if (start === -1) return html;
  const end = start + value.length;
  return `${html.slice(0, end)} selected${html.slice(end)}`;
}

/** Rendered once for each language: 250 elements would take longer than the rest of the page. */
function unselectedOptionsHtml(language: Language): string {
  const known = optionsIn.get(language);
  if (known !== undefined) return known;
  const html = renderToStaticMarkup(
    countriesIn(language).map(([code, text]) => (
      <option key={code} value={code}>
        {text}
      </option>
    )),
  );
  optionsIn.set(language, html);
  return html;
}

function Field({
  name,
  label,
  hint,
  problem,
  extra = null,
  children,
}: FieldProps & { readonly extra?: ReactNode; readonly children: ReactNode }) {
  return (
    <div className={problem === undefined ? 'field' : 'field wrong'}>
      <label htmlFor={name}>{label}</label>
      {hint === undefined ? null : (
        <p className="hint" id={`${name}-hint`}>
          {hint}
        </p>
      )}
      {children}
      {extra}
      {/* Always there: the script fills it. */}
      <p className="error" id={`${name}-error`} data-issue={problem?.issue}>
        {problem?.text}
      </p>
    </div>
  );
}

/** What a screen reader says with the field. */
function described({ name, hint, problem }: FieldProps, hasBank = false) {
  const parts = [
    ...(problem === undefined ? [] : [`${name}-error`]),
    ...(hint === undefined ? [] : [`${name}-hint`]),
    ...(hasBank ? [`${name}-bank`] : []),
  ];
  return {
    ...(problem === undefined ? {} : { 'aria-invalid': true }),
    ...(parts.length === 0 ? {} : { 'aria-describedby': parts.join(' ') }),
  };
}
