import {
  createRootRoute,
  createRoute,
  createRouter,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { NewPaymentPage } from './payments/new-payment.js';
import { PaymentListPage, paymentSearchOf } from './payments/payment-list.js';
import { PaymentPage } from './payments/payment-page.js';
import { ApiKeysPage } from './settings/api-keys.js';
import { Shell } from './shell.js';
import { SignInPage } from './sign-in.js';
import { LoadFailed, NotFound } from './ui.js';

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFound });

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  component: SignInPage,
  validateSearch: ({ next }: Record<string, unknown>): { readonly next?: string } =>
    typeof next === 'string' ? { next } : {},
});

/** Everything that takes a session. */
const shell = createRoute({ getParentRoute: () => root, id: 'shell', component: Shell });

const payments = createRoute({
  getParentRoute: () => shell,
  path: '/payments',
  component: PaymentListPage,
  validateSearch: paymentSearchOf,
});
const newPayment = createRoute({
  getParentRoute: () => shell,
  path: '/payments/new',
  component: NewPaymentPage,
});
const payment = createRoute({
  getParentRoute: () => shell,
  path: '/payments/$paymentId',
  component: PaymentPage,
});

const apiKeys = createRoute({
  getParentRoute: () => shell,
  path: '/api-keys',
  component: ApiKeysPage,
});

const start = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/payments', replace: true });
  },
});

export const router = createRouter({
  routeTree: root.addChildren([
    start,
    signIn,
    shell.addChildren([payments, newPayment, payment, apiKeys]),
  ]),
  basepath: '/dashboard',
  defaultErrorComponent: ({ error }) => <LoadFailed error={error as Error} />,
  defaultNotFoundComponent: NotFound,
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
