/** The page of an expired link. It shows who created the link and the direction, nothing else. */
import type { Language } from '../language.js';
import type { ExpiredLinkPayment } from '../link-pages.js';
import { textsIn } from '../texts/texts-in.js';

export function ExpiredLink({
  language,
  payment: { direction, originatorName, organizationName },
}: {
  readonly language: Language;
  readonly payment: ExpiredLinkPayment;
}) {
  const { expired } = textsIn[language];
  return (
    <>
      <h1>{expired.heading}</h1>
      <p>{expired.text(direction, originatorName ?? organizationName)}</p>
      <p>{expired.way}</p>
    </>
  );
}
