import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { approvalSearchOf } from './approvals/approval-search.js';
import { contactSearchOf, newContactSearchOf } from './parties/party-search.js';
import { overviewSearchOf } from './overview/overview-search.js';
import { newPaymentSearchOf } from './payments/new-payment-search.js';
import { paymentSearchOf } from './payments/payment-search.js';
import { Shell } from './shell.js';
import { SignInPage, signInSearchOf } from './sign-in.js';
import { LoadFailed, NotFound } from './ui.js';
import { userSearchOf } from './users/user-search.js';
import { deliverySearchOf } from './webhooks/delivery-search.js';

const root = createRootRoute({ component: Outlet });

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  component: SignInPage,
  validateSearch: signInSearchOf,
});

/** Everything that takes a session. */
const shell = createRoute({ getParentRoute: () => root, id: 'shell', component: Shell });

const overview = createRoute({
  getParentRoute: () => shell,
  path: '/overview',
  component: lazyRouteComponent(() => import('./overview/overview-page.js'), 'OverviewPage'),
  validateSearch: overviewSearchOf,
});

const payments = createRoute({
  getParentRoute: () => shell,
  path: '/payments',
  component: lazyRouteComponent(() => import('./payments/payment-list.js'), 'PaymentListPage'),
  validateSearch: paymentSearchOf,
});
const newPayment = createRoute({
  getParentRoute: () => shell,
  path: '/payments/new',
  staticData: { role: 'operator' },
  component: lazyRouteComponent(() => import('./payments/new-payment.js'), 'NewPaymentPage'),
  validateSearch: newPaymentSearchOf,
});
const payment = createRoute({
  getParentRoute: () => shell,
  path: '/payments/$paymentId',
  component: lazyRouteComponent(() => import('./payments/payment-page.js'), 'PaymentPage'),
});

const webhooks = createRoute({
  getParentRoute: () => shell,
  path: '/webhooks',
  component: lazyRouteComponent(() => import('./webhooks/webhook-list.js'), 'WebhookListPage'),
});
const newWebhook = createRoute({
  getParentRoute: () => shell,
  path: '/webhooks/new',
  staticData: { role: 'admin' },
  component: lazyRouteComponent(() => import('./webhooks/new-webhook.js'), 'NewWebhookPage'),
});
const webhook = createRoute({
  getParentRoute: () => shell,
  path: '/webhooks/$webhookId',
  component: lazyRouteComponent(() => import('./webhooks/webhook-page.js'), 'WebhookPage'),
  validateSearch: deliverySearchOf,
});
const delivery = createRoute({
  getParentRoute: () => shell,
  path: '/webhooks/$webhookId/deliveries/$deliveryId',
  component: lazyRouteComponent(() => import('./webhooks/delivery-page.js'), 'DeliveryPage'),
});

const approvals = createRoute({
  getParentRoute: () => shell,
  path: '/approvals',
  component: lazyRouteComponent(() => import('./approvals/approval-list.js'), 'ApprovalListPage'),
  validateSearch: approvalSearchOf,
});
const approval = createRoute({
  getParentRoute: () => shell,
  path: '/approvals/$approvalId',
  component: lazyRouteComponent(() => import('./approvals/approval-page.js'), 'ApprovalPage'),
});

const apiKeys = createRoute({
  getParentRoute: () => shell,
  path: '/api-keys',
  staticData: { role: 'admin' },
  component: lazyRouteComponent(() => import('./settings/api-keys.js'), 'ApiKeysPage'),
});

const users = createRoute({
  getParentRoute: () => shell,
  path: '/users',
  staticData: { role: 'admin' },
  component: lazyRouteComponent(() => import('./users/users-page.js'), 'UsersPage'),
  validateSearch: userSearchOf,
});
const account = createRoute({
  getParentRoute: () => shell,
  path: '/account',
  component: lazyRouteComponent(() => import('./account/account-page.js'), 'AccountPage'),
});

const contacts = createRoute({
  getParentRoute: () => shell,
  path: '/contacts',
  component: lazyRouteComponent(() => import('./parties/contact-list.js'), 'ContactListPage'),
  validateSearch: contactSearchOf,
});
const newContact = createRoute({
  getParentRoute: () => shell,
  path: '/contacts/new',
  staticData: { role: 'operator' },
  component: lazyRouteComponent(() => import('./parties/new-contact.js'), 'NewContactPage'),
  validateSearch: newContactSearchOf,
});
const contact = createRoute({
  getParentRoute: () => shell,
  path: '/contacts/$contactId',
  component: lazyRouteComponent(() => import('./parties/contact-page.js'), 'ContactPage'),
});
const changeContact = createRoute({
  getParentRoute: () => shell,
  path: '/contacts/$contactId/change',
  staticData: { role: 'operator' },
  component: lazyRouteComponent(() => import('./parties/change-party.js'), 'ChangeContactPage'),
});
const originators = createRoute({
  getParentRoute: () => shell,
  path: '/originators',
  component: lazyRouteComponent(() => import('./parties/originator-list.js'), 'OriginatorListPage'),
});
const originator = createRoute({
  getParentRoute: () => shell,
  path: '/originators/$originatorId',
  component: lazyRouteComponent(() => import('./parties/originator-page.js'), 'OriginatorPage'),
});
const changeOriginator = createRoute({
  getParentRoute: () => shell,
  path: '/originators/$originatorId/change',
  staticData: { role: 'admin' },
  component: lazyRouteComponent(() => import('./parties/change-party.js'), 'ChangeOriginatorPage'),
});

const fees = createRoute({
  getParentRoute: () => shell,
  path: '/fees',
  component: lazyRouteComponent(() => import('./fees/fees-page.js'), 'FeesPage'),
});

const statements = createRoute({
  getParentRoute: () => shell,
  path: '/statements',
  component: lazyRouteComponent(
    () => import('./statements/statement-list.js'),
    'StatementListPage',
  ),
});

const exports = createRoute({
  getParentRoute: () => shell,
  path: '/exports',
  component: lazyRouteComponent(() => import('./exports/exports-page.js'), 'ExportsPage'),
});

/** An address that leads nowhere: with the navigation, and only for users who are signed in. */
const nothing = createRoute({ getParentRoute: () => shell, path: '$', component: NotFound });

const start = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/overview', replace: true });
  },
});

export const router = createRouter({
  routeTree: root.addChildren([
    start,
    signIn,
    shell.addChildren([
      ...[overview, payments, newPayment, payment, approvals, approval],
      ...[contacts, newContact, contact, changeContact],
      ...[originators, originator, changeOriginator],
      ...[webhooks, newWebhook, webhook, delivery],
      ...[apiKeys, users, account, fees, statements, exports, nothing],
    ]),
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
