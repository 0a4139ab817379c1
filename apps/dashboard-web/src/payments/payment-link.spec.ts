import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { PaymentLinkSection } from './payment-link.js';

const at = '2026-11-23T12:00:00.000Z';
const open = { kind: 'open', at, lastAt: at, count: 1, actor: null, actorEmail: null } as const;
const visitor = { ip: '203.0.113.7', userAgent: 'Phone/1' };

function page(seen: typeof visitor | null, mayShow: boolean, changes: object = {}): string {
  const access = { ...open, outcome: null, visitor: seen, ...changes };
  return section({ accesses: [access] }, mayShow);
}

function section(changes: object, mayShow: boolean): string {
  const link = { state: 'canceled', expiresAt: at, holder: null, payerFee: 0, ...changes };
  const props = { paymentId: 'p', link: link as never, mayShow };
  const shown = createElement(PaymentLinkSection, props);
  const client = new QueryClient();
  const provided = createElement(QueryClientProvider, { client }, shown);
  return renderToStaticMarkup(createElement(MantineProvider, null, provided));
}

it('names the address and the browser of a visitor as text', () => {
  const html = page(visitor, true);
  expect(html).toContain('>203.0.113.7<');
  expect(html).toContain('>Phone/1<');
});

it('says to viewers that visitors are not shown to them, and to others that an erased one is not kept', () => {
  expect(page(null, false)).toContain('Not shown to your role');
  expect(page(null, true)).toContain('Not kept');
});

it('calls a submission accepted only where its result is recorded', () => {
  const submit = (outcome: string | null) => page(visitor, true, { kind: 'submit', outcome });
  expect(submit('QUEUED')).toContain('<td>Submitted (queued)</td>');
  expect(submit('LINK_EXPIRED')).toContain('<td>Submitted (link expired)</td>');
  expect(submit(null)).toContain('<td>Submitted (result not recorded)</td>');
  expect(page(visitor, true)).toContain('<td>Opened</td>');
});

it('asks those who see the URL of an open link to send it', () => {
  const of = (state: string, mayShow = true) => section({ state, accesses: [] }, mayShow);
  const request = 'Send this URL to the recipient';
  expect(of('open')).toContain(request);
  for (const state of ['used', 'expired', 'canceled']) expect(of(state)).not.toContain(request);
  expect(of('open', false)).not.toContain(request);
});
