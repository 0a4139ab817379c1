/** Replaces all fee schedules by those of a file, the same file that `pis fees set` takes. */
import { Button, FileInput, Group, List, Stack, Text } from '@mantine/core';
import type { FeeScheduleView } from '@pis/dashboard/api';
import { useState } from 'react';
import type { ApiFailure } from '../api.js';
import { issueText } from '../issue-texts.js';
import { Section } from '../ui.js';
import { schedulesIn } from './fee-rows.js';
import { FeesProblem, useSetFees } from './set-fees.js';

/** Problems that are listed. The file has more to mend then anyway. */
const listedMax = 20;

export function FeesFile({
  shown: shownNow,
  close,
}: {
  readonly shown: readonly FeeScheduleView[];
  readonly close: () => void;
}) {
  const [shown] = useState(shownNow);
  const [schedules, setSchedules] = useState<readonly unknown[] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const { save, failure } = useSetFees(shown, close);
  const choose = async (file: File | null) => {
    setSchedules(null);
    setProblem(null);
    save.reset();
    if (file === null) return;
    try {
      setSchedules(schedulesIn(await file.text()));
    } catch (error) {
      setProblem(error instanceof Error ? error.message : 'This file cannot be read.');
    }
  };
  return (
    <Section title="Set fees from a file">
      <Stack gap="md" maw={560}>
        <FeesProblem failure={failure} hasFields={false} />
        {failure === null ? null : <Problems failure={failure} />}
        <FileInput
          label="File of fee schedules"
          description="JSON, as for pis fees set. Amounts are in cents."
          placeholder="Choose a file"
          accept="application/json,.json"
          error={problem}
          onChange={(file) => void choose(file)}
        />
        {schedules === null ? null : (
          <Text size="sm">
            {`The file has ${countText(schedules.length)}. They replace all that there are now (${shown.length}).`}
          </Text>
        )}
        <Group gap="sm">
          <Button
            disabled={schedules === null}
            loading={save.isPending}
            onClick={() => schedules !== null && save.mutate(schedules)}
          >
            Replace all fees
          </Button>
          <Button variant="default" onClick={close}>
            Back
          </Button>
        </Group>
      </Stack>
    </Section>
  );
}

function countText(count: number): string {
  return count === 1 ? '1 schedule' : `${count} schedules`;
}

/** Each with its place in the file. */
function Problems({ failure: { problems } }: { readonly failure: ApiFailure }) {
  if (problems.length === 0) return null;
  return (
    <List size="sm">
      {problems.slice(0, listedMax).map((one) => (
        <List.Item key={`${one.field} ${one.issue}`}>
          <code>{one.field}</code>: {issueText(one)}
        </List.Item>
      ))}
      {problems.length > listedMax ? (
        <List.Item>{`And ${problems.length - listedMax} more.`}</List.Item>
      ) : null}
    </List>
  );
}
