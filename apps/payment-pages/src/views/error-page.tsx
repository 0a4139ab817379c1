/** The page of an error. It shows nothing of a payment. */
import type { Language } from '../language.js';
import { textsIn } from '../texts/texts-in.js';
import type { ErrorKind } from '../texts/texts.js';

const kinds: Readonly<Record<number, ErrorKind>> = {
  400: 'notReadable',
  403: 'forbidden',
  404: 'notFound',
  408: 'notReadable',
  413: 'notReadable',
  415: 'notReadable',
  429: 'tooMany',
  503: 'away',
};

export function errorHeading(language: Language, status: number): string {
  return textsIn[language].errors[kinds[status] ?? 'other'].heading;
}

export function ErrorContent({
  language,
  status,
  isForm,
}: {
  readonly language: Language;
  readonly status: number;
  /** Whether a form was sent: then the page says what became of it. */
  readonly isForm: boolean;
}) {
  const { text, formText = text } = textsIn[language].errors[kinds[status] ?? 'other'];
  return (
    <>
      <h1>{errorHeading(language, status)}</h1>
      <p>{isForm ? formText : text}</p>
    </>
  );
}
