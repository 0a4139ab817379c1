/** The client has every operation of the reference. A missing one fails. */
import { PisClient } from '@pis/client';
import { openApiDocument } from '@pis/contracts';

const id = '6f0c3a1e-0000-4000-8000-000000000001';

const calls: Readonly<Record<string, (client: PisClient) => Promise<unknown>>> = {
  listOriginators: ({ originators }) => originators.page(),
  updateOriginator: ({ originators }) => originators.update(id, {}),
  createContact: ({ contacts }) =>
    contacts.create({ originatorId: id, entityType: 'BUSINESS', email: 'a@b.example' }),
  listContacts: ({ contacts }) => contacts.page(),
  updateContact: ({ contacts }) => contacts.update(id, {}),
  createPayment: ({ payments }) =>
    payments.create({ originatorId: id, contactId: id, paymentAmount: 1, direction: 'INBOUND' }),
  getPayment: ({ payments }) => payments.get(id),
  listPayments: ({ payments }) => payments.page(),
  evaluateRails: ({ rails }) =>
    rails.evaluate({ originatorId: id, contactId: id, paymentAmount: 1, direction: 'INBOUND' }),
  simulatePayment: ({ sandbox }) => sandbox.simulate(id, { outcome: 'fail' }),
  createWebhook: ({ webhooks }) =>
    webhooks.create({ url: 'https://h.example/', subscribedEvents: ['payment.*'] }),
  listWebhooks: ({ webhooks }) => webhooks.list(),
  getWebhook: ({ webhooks }) => webhooks.get(id),
  updateWebhook: ({ webhooks }) => webhooks.update(id, {}),
  deleteWebhook: ({ webhooks }) => webhooks.delete(id),
  testWebhook: ({ webhooks }) => webhooks.test(id),
  rotateWebhookSecret: ({ webhooks }) => webhooks.rotateSecret(id),
  listWebhookDeliveries: ({ webhooks }) => webhooks.deliveriesPage(id),
  getWebhookDelivery: ({ webhooks }) => webhooks.delivery(id),
  redeliverWebhookDelivery: ({ webhooks }) => webhooks.redeliver(id),
  replayWebhook: ({ webhooks }) => webhooks.replay(id, { from: '2026-01-01' }),
  getWebhookReplay: ({ webhooks }) => webhooks.getReplay(id, id),
  listEvents: ({ events }) => events.page(),
  listStatements: ({ statements }) => statements.list(),
  getStatement: ({ statements }) => statements.get(id),
  getStatementPdf: ({ statements }) => statements.pdf(id),
  createExport: ({ exports }) => exports.create({ kind: 'payments', format: 'csv' }),
  listExports: ({ exports }) => exports.page(),
  getExport: ({ exports }) => exports.get(id),
  getExportFile: async ({ exports }) => {
    const whole = { exportId: id, format: 'csv', sizeBytes: 11 } as const;
    for await (const part of exports.download(whole)) expect(part).toHaveLength(11);
  },
  cancelExport: ({ exports }) => exports.cancel(id),
  getAuditKey: ({ audit }) => audit.verifierKey(),
  listCheckpoints: ({ audit }) => audit.checkpointsPage(),
  getConsistency: ({ audit }) => audit.consistency({ from: 1, to: 2 }),
  getPaymentProof: ({ audit }) => audit.payment(id),
};

const files = { '/pdf': 'application/pdf', '/file': 'text/csv' } as const;

const { paths } = openApiDocument({ sandbox: true }) as unknown as {
  paths: Record<string, Record<string, { operationId: string }>>;
};
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { operationId }]) => ({
    operationId,
    request: `${method.toUpperCase()} ${path.replace(/\{\w+\}/g, id)}`,
  })),
);

it('has exactly the operations of the API', () => {
  expect(Object.keys(calls).toSorted()).toEqual(
    operations.map(({ operationId }) => operationId).toSorted(),
  );
});

it.each(operations)('$operationId is $request', async ({ operationId, request }) => {
  const sent: string[] = [];
  const client = new PisClient({
    baseUrl: 'http://service.example',
    apiKey: 'pis_test_key',
    fetch: async (input, init) => {
      sent.push(`${init?.method ?? ''} ${new URL(String(input)).pathname}`);
      if (init?.method === 'DELETE') return new Response(null, { status: 204 });
      const [type = 'application/json'] = Object.entries(files).flatMap(([end, mediaType]) =>
        request.endsWith(end) ? [mediaType] : [],
      );
      return new Response('{"data":[]}', { headers: { 'content-type': type } });
    },
  });
  await calls[operationId]?.(client);
  expect(sent).toEqual([request]);
});
