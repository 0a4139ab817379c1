/**
 * The routes of the pages. The token of a link is its only secret: no log, trace, metric or referrer has it. An
 * unknown link is answered exactly as a canceled one.
 */
import { Body, Controller, Get, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { RoutingDirectory } from '@pis/bank-rails';
import { PaymentLinks } from '@pis/commands';
import { addressOf, ApiError, contextBy, networkOf, notFound, PageRoute } from '@pis/http-api';
import type { Keyring } from '@pis/keyring';
import { OrganizationLogos } from '@pis/read-models';
import { KEYRING, LOG_WATCH, type LogWatch } from '@pis/service-kit';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  type FieldProblem,
  fieldProblems,
  type FormValues,
  inOrder,
  readForm,
  valuesOf,
  withoutSecrets,
} from './bank-details-form.js';
import { formToken, isFormToken, isFromOtherSite } from './csrf.js';
import type { FoundLink, LinkPages, LinkPayment, NetworkVisitor } from './link-pages.js';
import { findAsset } from './page-assets.js';
import { PageLimits } from './page-limits.js';
import { errorPage, expiredPage, openPage, statusPart, unpayablePage, usedPage } from './pages.js';
import { PAGE_SETTINGS, type PageSettings, ROUTING_DIRECTORY } from './tokens.js';
import { within } from './time-limit.js';
import { isUnpayable } from './views/unpayable-link.js';

/** Nothing but this host's own files. */
const pageHeaders = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'X-Robots-Tag': 'noindex, nofollow',
  'Permissions-Policy': 'camera=(), microphone=(), geolocation=(), payment=()',
} as const;

const html = 'text/html; charset=utf-8';
/** 32 bytes, base64url. */
const tokenForm = /^[A-Za-z0-9_-]{43}$/;
const logoName = /^([0-9a-f]{64})\.png$/;
const routingNumberForm = /^\d{9}$/;
const userAgentMax = 500;

type OpenLink = Extract<FoundLink, { readonly state: 'open' }>;

@Controller('pay')
export class PaymentPagesController {
  constructor(
    @Inject(PaymentLinks) private readonly links: LinkPages,
    @Inject(ROUTING_DIRECTORY) private readonly banks: RoutingDirectory,
    @Inject(KEYRING) private readonly keyring: Keyring,
    @Inject(LOG_WATCH) private readonly logWatch: LogWatch,
    @Inject(OrganizationLogos) private readonly logos: Pick<OrganizationLogos, 'byDigest'>,
    @Inject(PageLimits) private readonly limits: PageLimits,
    @Inject(PAGE_SETTINGS) private readonly settings: PageSettings,
  ) {}

  /** Part of an address, as it is left when a line was broken. */
  @Get()
  @PageRoute(errorPage, pageHeaders)
  nothing(): never {
    throw notFound('link');
  }

  @Get('assets/:name')
  @PageRoute(errorPage, pageHeaders)
  asset(@Param('name') name: string, @Res({ passthrough: true }) reply: FastifyReply): Buffer {
    const asset = findAsset(name);
    if (asset === null) throw notFound('file');
    const cached = asset.isCurrent ? 'public, max-age=31536000, immutable' : 'no-cache';
    reply.type(asset.type).header('Cache-Control', cached);
    return asset.content;
  }

  /** Its name is the digest of its content: nobody can guess it who has not seen it. */
  @Get('assets/logo/:name')
  @PageRoute(errorPage, pageHeaders)
  logo(
    @Param('name') name: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer> {
    this.limits.takeAddress(request.ip);
    return within(this.settings.timeoutMs, async () => {
      const [, digest] = logoName.exec(name) ?? [];
      const file = digest === undefined ? null : await this.logos.byDigest(digest);
      if (file === null) throw notFound('file');
      reply.type('image/png').header('Cache-Control', 'public, max-age=31536000, immutable');
      return file;
    });
  }

  @Get(':token')
  @PageRoute(errorPage, pageHeaders)
  show(
    @Param('token') token: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    this.limits.take(request.ip, token);
    return within(this.settings.timeoutMs, async () => {
      const link = await this.find(token);
      await this.links.recordOpen(link, visitorOf(request));
      reply.type(html);
      switch (link.state) {
        case 'open':
          return isUnpayable(link.payment)
            ? unpayablePage(request, link.payment)
            : openPage(request, link.payment, this.emptyForm(token));
        case 'submitted':
          return usedPage(request, link.payment, { isRefusal: false });
        case 'expired':
          reply.code(410);
          return expiredPage(request, link.payment);
      }
    });
  }

  @Post(':token')
  @PageRoute(errorPage, pageHeaders)
  submit(
    @Param('token') token: string,
    @Body() body: unknown,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    this.limits.take(request.ip, token);
    if (!(body instanceof URLSearchParams))
      throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'send a form');
    return within(this.settings.timeoutMs, async () => {
      this.logWatch.check();
      const link = await this.find(token);
      reply.type(html);
      if (link.state !== 'open' || isUnpayable(link.payment)) {
        await this.links.recordRefusal(link, visitorOf(request));
        return refused(link, request, reply);
      }
      if (!this.isOwnForm(token, body, request)) {
        await this.links.recordRefusal(link, visitorOf(request), 'FOREIGN_FORM');
        throw foreignForm();
      }
      return this.answer(token, link, valuesOf(body), request, reply);
    });
  }

  /** The part of the status page that changes, for its script. */
  @Get(':token/status')
  @PageRoute(errorPage, pageHeaders)
  status(
    @Param('token') token: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    this.limits.take(request.ip, token);
    return within(this.settings.timeoutMs, async () => {
      const link = await this.find(token);
      reply.type(html);
      if (link.state === 'submitted') return statusPart(request, link.payment);
      reply.code(link.state === 'expired' ? 410 : 409);
      return '';
    });
  }

  /** The name of a bank while its routing number is typed. Only for whoever holds an open link. */
  @Get(':token/bank')
  @PageRoute(errorPage, pageHeaders)
  bank(
    @Param('token') token: string,
    @Query('routingNumber') routingNumber: unknown,
    @Req() request: FastifyRequest,
  ): Promise<{ readonly bankName: string | null }> {
    this.limits.take(request.ip, token);
    if (this.isFromOtherSite(request)) throw foreignForm();
    return within(this.settings.timeoutMs, async () => {
      const link = await this.find(token);
      if (link.state !== 'open') throw notFound('link');
      return { bankName: await this.bankOf(routingNumber) };
    });
  }

  /** @throws ApiError NOT_FOUND; StoreUnavailable */
  private async find(token: string): Promise<FoundLink> {
    const link = tokenForm.test(token) ? await this.links.find(token) : null;
    if (link === null) throw notFound('link');
    return link;
  }

  private emptyForm(token: string) {
    return { formToken: formToken(this.keyring, token), values: {}, problems: [], bankName: null };
  }

  private isOwnForm(token: string, body: URLSearchParams, request: FastifyRequest): boolean {
    if (this.isFromOtherSite(request)) return false;
    return isFormToken(this.keyring, token, body.get('formToken'));
  }

  private isFromOtherSite(request: FastifyRequest): boolean {
    return isFromOtherSite(request, this.settings.publicUrl);
  }

  /** Of a form that was sent from the page of an open link. */
  private async answer(
    token: string,
    link: OpenLink,
    values: FormValues,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<string> {
    const form = readForm(values);
    const bankName = await this.bankOf(values.achRoutingNumber);
    const problems = form.ok ? [] : [...form.problems];
    const isChecked = !problems.some(({ field }) => field === 'achRoutingNumber');
    if (isChecked && bankName === null)
      problems.push({ field: 'achRoutingNumber', issue: 'validation_routing_number' });
    if (!form.ok || problems.length > 0) {
      await this.links.recordRefusal(link, visitorOf(request));
      return this.formAgain(token, link.payment, { values, problems, bankName }, request, reply);
    }
    const visitor = visitorOf(request);
    const cause = contextBy(`link:${link.paymentId}`, request, null);
    const result = await this.links.submit(token, form.submission, visitor, cause);
    if (!('refused' in result)) {
      reply.code(303).header('Location', this.addressOf(token, request));
      return '';
    }
    switch (result.refused) {
      case 'LINK_NOT_FOUND':
        throw notFound('link');
      case 'LINK_EXPIRED':
      case 'ALREADY_SUBMITTED':
        return refused(await this.find(token), request, reply);
      case 'INVALID_REQUEST': {
        const given = fieldProblems(result.problems);
        const filled = { values, problems: given, bankName };
        return this.formAgain(token, link.payment, filled, request, reply);
      }
    }
  }

  /** The form with its problems, without the account numbers. */
  private formAgain(
    token: string,
    payment: LinkPayment,
    {
      values,
      problems,
      bankName,
    }: {
      readonly values: FormValues;
      readonly problems: readonly FieldProblem[];
      readonly bankName: string | null;
    },
    request: FastifyRequest,
    reply: FastifyReply,
  ): string {
    reply.code(400);
    return openPage(request, payment, {
      formToken: formToken(this.keyring, token),
      values: withoutSecrets(values),
      problems: inOrder(problems),
      bankName,
    });
  }

  private async bankOf(routingNumber: unknown): Promise<string | null> {
    if (typeof routingNumber !== 'string' || !routingNumberForm.test(routingNumber)) return null;
    return (await this.banks.find(routingNumber))?.bankName ?? null;
  }

  /** The page again, so that a reload sends nothing. In the language that was asked for. */
  private addressOf(token: string, { query }: FastifyRequest): string {
    const { lang } = query as { readonly lang?: unknown };
    const language = lang === 'en' || lang === 'es' ? `?lang=${lang}` : '';
    return `${this.settings.pathPrefix}/pay/${token}${language}`;
  }
}

/** The answer to a submission that comes too late, or to a link that cannot be used. */
function refused(link: FoundLink, request: FastifyRequest, reply: FastifyReply): string {
  switch (link.state) {
    case 'expired':
      reply.code(410);
      return expiredPage(request, link.payment);
    case 'submitted':
      reply.code(409);
      return usedPage(request, link.payment, { isRefusal: true });
    case 'open':
      if (!isUnpayable(link.payment)) throw new Error('an open link refused a submission');
      reply.code(409);
      return unpayablePage(request, link.payment);
  }
}

function foreignForm(): ApiError {
  return new ApiError('FORBIDDEN', 'this was not sent from the page of the link');
}

function visitorOf(request: FastifyRequest): NetworkVisitor {
  const userAgent = request.headers['user-agent']?.slice(0, userAgentMax) ?? null;
  const ip = addressOf(request);
  return { ip, network: networkOf(ip), userAgent };
}
