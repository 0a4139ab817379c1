/** One originator: who it is, its account, and its payments. Administrators change it. */
import { Button, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { nameOf } from '../format.js';
import { meQuery } from '../queries.js';
import { Fact, LoadFailed, PageHeader, PageLoading } from '../ui.js';
import { PartyFacts, PartyPayments } from './party-facts.js';
import { accountText, originatorQuery } from './party-queries.js';

export function OriginatorPage() {
  const { originatorId } = useParams({ from: '/shell/originators/$originatorId' });
  const { data: me } = useQuery(meQuery);
  const navigate = useNavigate();
  const page = useQuery(originatorQuery(originatorId));
  if (page.isError && page.data === undefined)
    return (
      <>
        <PageHeader title="Originator" />
        <LoadFailed error={page.error} retry={() => void page.refetch()} />
      </>
    );
  if (page.data === undefined) return <PageLoading title="Originator" />;
  const originator = page.data;
  return (
    <>
      <Text size="sm" mb="xs">
        <Link to="/originators" className="back">
          Back to the list
        </Link>
      </Text>
      <PageHeader
        title={nameOf(originator) ?? 'Originator'}
        action={
          me?.role === 'admin' ? (
            <Button
              variant="default"
              onClick={() =>
                void navigate({ to: '/originators/$originatorId/change', params: { originatorId } })
              }
            >
              Change
            </Button>
          ) : null
        }
      />
      <Stack gap="md">
        <PartyFacts party={originator}>
          <Fact name="Account">{accountText(originator) ?? 'None'}</Fact>
          <Fact name="Contacts">
            <Link to="/contacts" search={{ originatorId }} className="plain-link">
              Contacts of this originator
            </Link>
          </Fact>
        </PartyFacts>
        <PartyPayments of={{ originatorId }} />
      </Stack>
    </>
  );
}
