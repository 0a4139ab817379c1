import { jest } from '@jest/globals';
import { ownerOf } from '@pis/keyring';
import { createSecret, sign, verify } from '@pis/webhooks';
import { type DispatcherFixture, dispatcherFixture } from './testing/dispatcher-fixture.js';

jest.setTimeout(120_000);

const timeoutMs = 30_000;
const hourMs = 3_600_000;

describe('A client who rotates the secret of its endpoint', () => {
  let fixture: DispatcherFixture;
  beforeEach(async () => {
    fixture = await dispatcherFixture();
  });
  afterEach(() => fixture.close());

  async function rotate(endpointId: string, overlapHours: number): Promise<string> {
    const secret = createSecret();
    const { keyring, organizationId } = fixture;
    const owner = ownerOf.webhookEndpoint(endpointId);
    const sealedSecret = await keyring.seal(owner, secret);
    await fixture.change({
      type: 'RotateWebhookEndpointSecret',
      at: fixture.now().toISOString(),
      data: { organizationId, endpointId, sealedSecret, overlapHours },
    });
    return secret;
  }

  async function nextDelivery() {
    const event = await fixture.paymentEvent();
    const dispatcher = fixture.dispatcher();
    dispatcher.start();
    await dispatcher.handle(event);
    const { body, headers } = await fixture.receiver.waitFor(
      (request) => request.body.includes(event.eventId),
      { timeoutMs },
    );
    // After it is recorded, no lease of it can end when the clock moves.
    await dispatcher.stop();
    const timestamp = String(headers['x-webhook-timestamp']);
    return {
      isVerifiedBy: (secret: string) => verify(body, headers, secret, fixture.now()),
      previous: headers['x-webhook-signature-256-previous'],
      signedBy: (secret: string) => sign(secret, timestamp, body),
    };
  }

  it('gets both signatures until the overlap ends by the clock of the signing, then one', async () => {
    const { endpointId, secret: first } = await fixture.createEndpoint();
    expect((await nextDelivery()).previous).toBeUndefined();
    const second = await rotate(endpointId, 24);
    fixture.advance(24 * hourMs - 1);
    const during = await nextDelivery();
    expect(during.isVerifiedBy(second)).toBe(true);
    expect(during.previous).toBe(during.signedBy(first));
    fixture.advance(1);
    const after = await nextDelivery();
    expect(after.isVerifiedBy(second)).toBe(true);
    expect(after.previous).toBeUndefined();
  });

  it('twice during an overlap gets the last two signatures; without an overlap one', async () => {
    const { endpointId } = await fixture.createEndpoint();
    const second = await rotate(endpointId, 72);
    const third = await rotate(endpointId, 1);
    const during = await nextDelivery();
    expect(during.isVerifiedBy(third)).toBe(true);
    expect(during.previous).toBe(during.signedBy(second));
    const fourth = await rotate(endpointId, 0);
    const after = await nextDelivery();
    expect(after.isVerifiedBy(fourth)).toBe(true);
    expect(after.previous).toBeUndefined();
  });
});
