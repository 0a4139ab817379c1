/** The pages as HTML, in the language of their reader. */
import type { ErrorPage } from '@pis/http-api';
import type { FastifyRequest } from 'fastify';
import type { ReactNode } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { languageOf } from './language.js';
import type { ExpiredLinkPayment, LinkPayment } from './link-pages.js';
import { assetName } from './page-assets.js';
import { textsIn } from './texts/texts-in.js';
import { ErrorContent, errorHeading } from './views/error-page.js';
import { ExpiredLink } from './views/expired-link.js';
import { OpenLink, type OpenLinkProps } from './views/open-link.js';
import { type AssetUrls, pageHtml } from './views/page.js';
import { LiveStatus, UsedLink } from './views/used-link.js';

export type FilledForm = Pick<OpenLinkProps, 'formToken' | 'values' | 'problems' | 'bankName'>;

export function openPage(request: FastifyRequest, payment: LinkPayment, form: FilledForm): string {
  const language = languageOf(request);
  const { details, form: texts } = textsIn[language];
  const prefix = form.problems.length > 0 ? `${texts.errorTitle}: ` : '';
  return page(
    request,
    { title: `${prefix}${details.heading}`, organizationName: payment.organizationName },
    <OpenLink language={language} payment={payment} {...form} />,
  );
}

/** @param isRefusal whether this is the answer to a second submission */
export function usedPage(
  request: FastifyRequest,
  payment: LinkPayment,
  { isRefusal }: { readonly isRefusal: boolean },
): string {
  const language = languageOf(request);
  return page(
    request,
    { title: textsIn[language].status.heading, organizationName: payment.organizationName },
    <UsedLink language={language} payment={payment} isRefusal={isRefusal} />,
  );
}

export function expiredPage(request: FastifyRequest, payment: ExpiredLinkPayment): string {
  const language = languageOf(request);
  return page(
    request,
    { title: textsIn[language].expired.heading, organizationName: payment.organizationName },
    <ExpiredLink language={language} payment={payment} />,
  );
}

export const errorPage: ErrorPage = ({ status }, request) => {
  const language = languageOf(request);
  return page(
    request,
    { title: errorHeading(language, status), organizationName: null },
    <ErrorContent language={language} status={status} />,
  );
};

/** The part of the status page that changes. */
export function statusPart(request: FastifyRequest, payment: LinkPayment): string {
  return renderToStaticMarkup(<LiveStatus language={languageOf(request)} payment={payment} />);
}

function page(
  request: FastifyRequest,
  { title, organizationName }: { readonly title: string; readonly organizationName: string | null },
  content: ReactNode,
): string {
  const assets = assetUrls(request);
  return pageHtml({ language: languageOf(request), title, organizationName, assets }, content);
}

/** Relative to the page, so that they work below any prefix of a proxy. */
function assetUrls({ url }: FastifyRequest): AssetUrls {
  const [path = ''] = url.split('?', 1);
  const folder = path.endsWith('/') ? '../assets' : 'assets';
  return {
    stylesheet: `${folder}/${assetName('pay.css')}`,
    script: `${folder}/${assetName('pay.js')}`,
    icon: `${folder}/${assetName('icon.svg')}`,
  };
}
