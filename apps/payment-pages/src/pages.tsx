/** The pages as HTML, in the language of their reader. */
import type { ErrorPage } from '@pis/http-api';
import type { FastifyRequest } from 'fastify';
import type { ReactNode } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { type Language, languageOf } from './language.js';
import type { ExpiredLinkPayment, LinkPayment } from './link-pages.js';
import { assetName } from './page-assets.js';
import { readableCreator, readablePayment } from './readable.js';
import { textsIn } from './texts/texts-in.js';
import { ErrorContent, errorHeading } from './views/error-page.js';
import { ExpiredLink } from './views/expired-link.js';
import { OpenLink, type OpenLinkProps } from './views/open-link.js';
import { type AssetUrls, type LogoPicture, pageHtml } from './views/page.js';
import { UnpayableLink } from './views/unpayable-link.js';
import { LiveStatus, UsedLink } from './views/used-link.js';

/** About 10 KB each; all are made again after so many. A page is made from what is part of its key, and from nothing else. */
const openPagesMax = 1_000;
let openPages = new Map<string, string>();

export type FilledForm = Pick<OpenLinkProps, 'formToken' | 'values' | 'problems' | 'bankName'>;

export function openPage(request: FastifyRequest, payment: LinkPayment, form: FilledForm): string {
  const language = languageOf(request);
  if (form.problems.length > 0) return openPageAnew(request, language, payment, form);
  const key = JSON.stringify([language, assetFolder(request), payment, form]);
  const known = openPages.get(key);
  if (known !== undefined) return known;
  const made = openPageAnew(request, language, payment, form);
  if (openPages.size >= openPagesMax) openPages = new Map();
  openPages.set(key, made);
  return made;
}

function openPageAnew(
  request: FastifyRequest,
  language: Language,
  given: LinkPayment,
  form: FilledForm,
): string {
  const payment = readablePayment(given);
  const { details, form: texts } = textsIn[language];
  const prefix = form.problems.length > 0 ? `${texts.errorTitle}: ` : '';
  return page(
    request,
    { title: `${prefix}${details.heading}`, payment },
    <OpenLink language={language} payment={payment} {...form} />,
  );
}

/** @param isRefusal whether this is the answer to a second submission */
export function usedPage(
  request: FastifyRequest,
  given: LinkPayment,
  { isRefusal }: { readonly isRefusal: boolean },
): string {
  const payment = readablePayment(given);
  const language = languageOf(request);
  return page(
    request,
    { title: textsIn[language].status.heading, payment },
    <UsedLink language={language} payment={payment} isRefusal={isRefusal} />,
  );
}

export function unpayablePage(request: FastifyRequest, given: LinkPayment): string {
  const payment = readablePayment(given);
  const language = languageOf(request);
  return page(
    request,
    { title: textsIn[language].details.heading, payment },
    <UnpayableLink language={language} payment={payment} />,
  );
}

export function expiredPage(request: FastifyRequest, given: ExpiredLinkPayment): string {
  const payment = readableCreator(given);
  const language = languageOf(request);
  return page(
    request,
    { title: textsIn[language].expired.heading, payment },
    <ExpiredLink language={language} payment={payment} />,
  );
}

export const errorPage: ErrorPage = ({ status }, request) => {
  const language = languageOf(request);
  return page(
    request,
    { title: errorHeading(language, status), payment: null },
    <ErrorContent language={language} status={status} isForm={request.method === 'POST'} />,
  );
};

/** The part of the status page that changes. */
export function statusPart(request: FastifyRequest, payment: LinkPayment): string {
  return renderToStaticMarkup(<LiveStatus language={languageOf(request)} payment={payment} />);
}

function page(
  request: FastifyRequest,
  {
    title,
    payment,
  }: {
    readonly title: string;
    /** Whose name and logo are shown; null when the page must not tell. */
    readonly payment: Pick<LinkPayment, 'organizationName' | 'organizationLogo'> | null;
  },
  content: ReactNode,
): string {
  const language = languageOf(request);
  const organizationName = payment?.organizationName ?? null;
  const logo = logoOf(request, payment?.organizationLogo ?? null);
  const assets = assetUrls(request);
  return pageHtml({ language, title, organizationName, logo, assets }, content);
}

function logoOf(
  request: FastifyRequest,
  logo: LinkPayment['organizationLogo'],
): LogoPicture | null {
  if (logo === null) return null;
  const { digest, width, height } = logo;
  return { url: `${assetFolder(request)}/logo/${digest}.png`, width, height };
}

/** Relative to the page, so that they work below any prefix of a proxy. */
function assetFolder({ url }: FastifyRequest): string {
  const [path = ''] = url.split('?', 1);
  return path.endsWith('/') ? '../assets' : 'assets';
}

function assetUrls(request: FastifyRequest): AssetUrls {
  const folder = assetFolder(request);
  return {
    stylesheet: `${folder}/${assetName('pay.css')}`,
    script: `${folder}/${assetName('pay.js')}`,
    icon: `${folder}/${assetName('icon.svg')}`,
  };
}
