/** What users see and change about themselves. */
import { Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { labelOf } from '../format.js';
import { meQuery } from '../queries.js';
import { Fact, PageHeader, Section } from '../ui.js';
import { roleNames } from '../users/user-search.js';
import { OneTimeCodes } from './one-time-codes.js';
import { PasswordSection } from './password-section.js';
import { Sessions } from './sessions.js';

export function AccountPage() {
  const { data: me } = useQuery(meQuery);
  if (me === undefined || me === null) return null;
  return (
    <>
      <PageHeader title="Your account" />
      <Stack gap="md">
        <Section title="You">
          <dl className="facts">
            <Fact name="Email">{me.email ?? <Text size="sm">Unknown</Text>}</Fact>
            <Fact name="Role">{labelOf(roleNames, me.role)}</Fact>
            <Fact name="Organization">{me.organizationName}</Fact>
          </dl>
        </Section>
        <PasswordSection hasCodes={me.oneTimeCodes} />
        <OneTimeCodes isOn={me.oneTimeCodes} />
        <Sessions />
      </Stack>
    </>
  );
}
