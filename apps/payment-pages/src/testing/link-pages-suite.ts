/** What holds for payment links as the pages use them: the real ones, and those in memory. */
import type { LinkSubmission } from '@pis/contracts';
import type { LinkPages, NetworkVisitor } from '../link-pages.js';

export interface LinkPagesScene {
  readonly links: LinkPages;
  /** Tokens of new links. */
  open(): Promise<string>;
  expired(): Promise<string>;
  canceled(): Promise<string>;
  /** The oldest first. */
  accesses(token: string): Promise<readonly RecordedAccess[]>;
}

export interface RecordedAccess {
  readonly kind: string;
  readonly outcome: string | null;
  readonly count: number;
  readonly visitor: { readonly ip: string; readonly userAgent: string | null } | null;
}

const visitor = { ip: '203.0.113.7', userAgent: 'Phone/1' };
const from: NetworkVisitor = { ...visitor, network: visitor.ip };

export const linkSubmission: LinkSubmission = {
  subType: 'CHECKING',
  achRoutingNumber: '021000021',
  achAccountNumber: '000123456789',
  legalAddress: {
    addressLine1: '12 St James Square',
    city: 'Sacramento',
    state: 'CA',
    postalCode: '95814',
    countryCode: 'US',
  },
};

export function describeLinkPages(name: string, sceneOf: () => LinkPagesScene): void {
  const found = async (token: string) => {
    const link = await sceneOf().links.find(token);
    if (link === null) throw new Error('no link');
    return link;
  };
  const submit = (token: string, submission: LinkSubmission = linkSubmission) =>
    sceneOf().links.submit(token, submission, from);
  const accessOf = (outcome: string) => ({ kind: 'submit', outcome, count: 1, visitor });

  describe(name, () => {
    it('records a submission that is accepted, and each that comes too late', async () => {
      const token = await sceneOf().open();
      expect(await submit(token)).toEqual({ status: 'QUEUED' });
      expect(await submit(token)).toEqual({ refused: 'ALREADY_SUBMITTED' });
      expect(await sceneOf().accesses(token)).toEqual([
        accessOf('QUEUED'),
        accessOf('ALREADY_SUBMITTED'),
      ]);
    });

    it('records a submission of an expired link, and one with a problem', async () => {
      const expired = await sceneOf().expired();
      expect(await submit(expired)).toEqual({ refused: 'LINK_EXPIRED' });
      expect(await sceneOf().accesses(expired)).toEqual([accessOf('LINK_EXPIRED')]);
      const token = await sceneOf().open();
      expect(await submit(token, { ...linkSubmission, achRoutingNumber: '1' })).toMatchObject({
        refused: 'INVALID_REQUEST',
        problems: [{ field: 'achRoutingNumber', issue: 'validation_routing_number' }],
      });
      expect(await sceneOf().accesses(token)).toEqual([accessOf('INVALID_REQUEST')]);
    });

    it('records a refusal of the page by the state of the link', async () => {
      const { links, open, expired, accesses } = sceneOf();
      const token = await open();
      await links.recordRefusal(await found(token), from);
      await submit(token);
      await links.recordRefusal(await found(token), from);
      const outcomes = (await accesses(token)).map(({ outcome }) => outcome);
      expect(outcomes).toEqual(['INVALID_REQUEST', 'QUEUED', 'ALREADY_SUBMITTED']);
      const late = await expired();
      await links.recordRefusal(await found(late), from);
      expect(await accesses(late)).toEqual([accessOf('LINK_EXPIRED')]);
    });

    it('shows of an expired link who created it and the direction alone', async () => {
      const { state, payment } = await found(await sceneOf().expired());
      expect(state).toBe('expired');
      expect(payment).toEqual({
        organizationName: 'Northwind Traders',
        organizationLogo: null,
        originatorName: 'Analytical Engines',
        direction: 'INBOUND',
      });
    });

    it('knows no canceled link, and records nothing of it', async () => {
      const { links, canceled, accesses } = sceneOf();
      const token = await canceled();
      expect(await links.find(token)).toBeNull();
      expect(await submit(token)).toEqual({ refused: 'LINK_NOT_FOUND' });
      expect(await accesses(token)).toEqual([]);
    });
  });
}
