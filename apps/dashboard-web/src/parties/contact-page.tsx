/** One contact: who it is, its account, and its payments. */
import { Badge, Button, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { call } from '../api.js';
import { nameOf } from '../format.js';
import { meQuery, queryClient } from '../queries.js';
import { Fact, FormProblem, LoadFailed, PageHeader, PageLoading, Section, Time } from '../ui.js';
import { PartyFacts, PartyPayments } from './party-facts.js';
import { accountTypes } from './party-form.js';
import {
  accountText,
  type ContactPageData,
  contactQuery,
  originatorQuery,
} from './party-queries.js';

export function ContactPage() {
  const { contactId } = useParams({ from: '/shell/contacts/$contactId' });
  const { data: me } = useQuery(meQuery);
  const page = useQuery(contactQuery(contactId));
  if (page.isError && page.data === undefined)
    return (
      <>
        <PageHeader title="Contact" />
        <LoadFailed error={page.error} retry={() => void page.refetch()} />
      </>
    );
  if (page.data === undefined) return <PageLoading title="Contact" />;
  const { contact } = page.data;
  const mayAct = me?.role !== 'viewer';
  return (
    <>
      <Text size="sm" mb="xs">
        <Link to="/contacts" search={{}} className="back">
          Back to the list
        </Link>
      </Text>
      <PageHeader
        title={nameOf(contact) ?? 'Contact'}
        action={mayAct ? <Actions contactId={contactId} /> : null}
      />
      <Stack gap="md">
        <PartyFacts party={contact}>
          <OriginatorFact originatorId={contact.originatorId} />
        </PartyFacts>
        <AccountSection page={page.data} mayAct={mayAct} />
        <PartyPayments of={{ contactId }} />
      </Stack>
    </>
  );
}

function Actions({ contactId }: { readonly contactId: string }) {
  const navigate = useNavigate();
  const pay = (direction: 'INBOUND' | 'OUTBOUND') =>
    void navigate({ to: '/payments/new', search: { direction, contactId } });
  return (
    <Group gap="xs">
      <Button
        variant="default"
        onClick={() => void navigate({ to: '/contacts/$contactId/change', params: { contactId } })}
      >
        Change
      </Button>
      <Button variant="default" onClick={() => pay('INBOUND')}>
        Request money
      </Button>
      <Button onClick={() => pay('OUTBOUND')}>Send money</Button>
    </Group>
  );
}

function OriginatorFact({ originatorId }: { readonly originatorId: string }) {
  const originator = useQuery(originatorQuery(originatorId));
  return (
    <Fact name="Originator">
      <Link to="/originators/$originatorId" params={{ originatorId }} className="plain-link">
        {originator.data === undefined ? originatorId : (nameOf(originator.data) ?? originatorId)}
      </Link>
    </Fact>
  );
}

function AccountSection({
  page,
  mayAct,
}: {
  readonly page: ContactPageData;
  readonly mayAct: boolean;
}) {
  const { contact, isActive, lastReturn, correction } = page;
  const { bankAccount } = contact;
  if (bankAccount === null)
    return (
      <Section title="Bank account">
        <Text size="sm" c="dimmed">
          No account on file. A payment asks for it by a link.
        </Text>
      </Section>
    );
  return (
    <Section title="Bank account">
      <Stack gap="md">
        <dl className="facts">
          <Fact name="State">
            <Badge
              color={isActive ? 'teal' : 'orange'}
              variant="light"
              radius="sm"
              tt="none"
              autoContrast
            >
              {isActive ? 'Active' : 'Not active'}
            </Badge>
          </Fact>
          <Fact name="Account">{accountText(contact)}</Fact>
          <Fact name="Account type">{accountTypes[bankAccount.subType as 'CHECKING']}</Fact>
          <Fact name="Routing number">{bankAccount.achRoutingNumber}</Fact>
          {bankAccount.swiftCode === null ? null : (
            <Fact name="SWIFT code">{bankAccount.swiftCode}</Fact>
          )}
        </dl>
        {isActive ? null : (
          <Text size="sm">
            Money can be sent only by a link, which asks for the account, until the account is
            replaced{correction === null ? '' : ' or the notification is answered'}.
          </Text>
        )}
        {lastReturn === null ? null : (
          <Text size="sm">
            The last return was <ReturnText lastReturn={lastReturn} />.
          </Text>
        )}
        {correction === null ? null : (
          <Correction contactId={contact.contactId} correction={correction} mayAct={mayAct} />
        )}
      </Stack>
    </Section>
  );
}

function ReturnText({
  lastReturn,
}: {
  readonly lastReturn: NonNullable<ContactPageData['lastReturn']>;
}) {
  const { paymentId, returnReasonCode, returnedAt } = lastReturn;
  return (
    <Link to="/payments/$paymentId" params={{ paymentId }} className="plain-link">
      {returnReasonCode ?? 'without a code'} on <Time at={returnedAt} />
    </Link>
  );
}

type CorrectionData = NonNullable<ContactPageData['correction']>;

/** What the bank says is wrong, and how the user answers it. */
function Correction({
  contactId,
  correction,
  mayAct,
}: {
  readonly contactId: string;
  readonly correction: CorrectionData;
  readonly mayAct: boolean;
}) {
  const navigate = useNavigate();
  const { paymentId, changeCode, meaning, corrected, isApplicable, isDismissed } = correction;
  const answer = useMutation({
    mutationFn: (way: 'applyCorrection' | 'dismissCorrection') =>
      call(way, { ids: { contactId }, body: { paymentId, changeCode } }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['contacts'] }),
  });
  return (
    <div className="notice">
      <Text fw={600} size="sm">
        {isDismissed
          ? 'Dismissed notification of change'
          : 'The bank sent a notification of change'}
      </Text>
      <Text size="sm">
        {changeCode}: {meaning}.{' '}
        <Link to="/payments/$paymentId" params={{ paymentId }} className="plain-link">
          Payment
        </Link>
      </Text>
      <dl className="facts">
        {correctedFacts(corrected).map(([name, text]) => (
          <Fact key={name} name={name}>
            {text}
          </Fact>
        ))}
      </dl>
      <FormProblem error={answer.error} />
      {!mayAct || isDismissed ? null : (
        <Group gap="xs">
          {isApplicable ? (
            <Button
              size="xs"
              loading={answer.isPending}
              onClick={() => answer.mutate('applyCorrection')}
            >
              Use the corrected account
            </Button>
          ) : null}
          <Button
            size="xs"
            variant="default"
            onClick={() =>
              void navigate({ to: '/contacts/$contactId/change', params: { contactId } })
            }
          >
            Enter the account
          </Button>
          <Button
            size="xs"
            variant="default"
            disabled={answer.isPending}
            onClick={() => answer.mutate('dismissCorrection')}
          >
            Dismiss
          </Button>
        </Group>
      )}
    </div>
  );
}

function correctedFacts(corrected: CorrectionData['corrected']): readonly [string, string][] {
  if (corrected === null) return [['Corrected data', 'Cannot be read']];
  const { achRoutingNumber, achAccountNumber, subType, name, other } = corrected;
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['Right routing number', achRoutingNumber],
    ['Right account number', achAccountNumber],
    ['Right account type', subType === undefined ? undefined : accountTypes[subType]],
    ['Right name', name],
    ['What the bank wrote', other],
  ];
  return facts
    .flatMap(([label, text]) => (text === undefined ? [] : [[label, text] as const]))
    .map(([label, text]): [string, string] => [label, text]);
}
