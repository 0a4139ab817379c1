/** Which rail a payment takes, why, and what the bank knows it by. */
import { Stack, Text } from '@mantine/core';
import { Fact, Section, Time } from '../ui.js';
import { Copyable, ExactTime } from '../values.js';
import { type PaymentPageData, railName } from './payment-words.js';

/** Of payments that never settle, whatever was expected when the rail was chosen. */
const tookNoPlace: readonly string[] = ['FAILED', 'BLOCKED', 'CANCELED'];

export function RailSection({ page }: { readonly page: PaymentPageData }) {
  const { payment, railDecision } = page;
  if (railDecision === null) return null;
  const { achService, isPossible, rejected } = railDecision;
  const isExpected = !tookNoPlace.includes(payment.status);
  const expectedSettlementAt = isExpected ? railDecision.expectedSettlementAt : null;
  const nextCutoffAt = isExpected ? railDecision.nextCutoffAt : null;
  return (
    <Section title="Rail">
      <Stack gap="md">
        {isPossible ? (
          <dl className="facts">
            <Fact name="Chosen rail">{railName(payment.paymentRail, achService)}</Fact>
            {expectedSettlementAt === null ? null : (
              <Fact name="Expected settlement">
                <Time at={expectedSettlementAt} />
              </Fact>
            )}
            {nextCutoffAt === null ? null : (
              <Fact name="Cutoff at the bank">
                <Time at={nextCutoffAt} />
              </Fact>
            )}
          </dl>
        ) : (
          <Text size="sm">No rail can take this payment.</Text>
        )}
        {rejected.length === 0 ? null : (
          <details className="others">
            <summary>Why not another rail</summary>
            <ul>
              {rejected.map(({ paymentRail, achService: service, reason }) => (
                <li key={`${paymentRail}${service ?? ''}`}>{reason}</li>
              ))}
            </ul>
          </details>
        )}
      </Stack>
    </Section>
  );
}

export function BankSection({ page }: { readonly page: PaymentPageData }) {
  const { railReference, connection, bankReferences } = page;
  const { files, traceNumber, messageId, instructionId, uetr } = bankReferences;
  const references = [
    ['Reference', railReference, 'the reference'],
    ['Trace number', traceNumber, 'the trace number'],
    ['Message ID', messageId, 'the message ID'],
    ['Instruction ID', instructionId, 'the instruction ID'],
    ['UETR', uetr, 'the UETR'],
  ] as const;
  const isEmpty = references.every(([, value]) => value === null) && files.length === 0;
  if (isEmpty) return null;
  return (
    <Section title="At the bank">
      <Stack gap="md">
        <dl className="facts">
          {references.map(([name, value, what]) =>
            value === null ? null : (
              <Fact key={name} name={name}>
                <Copyable value={value} name={what} />
              </Fact>
            ),
          )}
          {connection === null ? null : <Fact name="Connection">{connection}</Fact>}
        </dl>
        {files.length === 0 ? null : (
          <table className="list plain files">
            <thead>
              <tr>
                <th scope="col">File or message</th>
                <th scope="col">Direction</th>
                <th scope="col" className="wide">
                  Kind
                </th>
                <th scope="col" className="wide">
                  Time
                </th>
              </tr>
            </thead>
            <tbody>
              {files.map(({ id, name, way, kind, createdAt }) => (
                <tr key={id} className="row">
                  <td title={name}>{name}</td>
                  <td>{way === 'out' ? 'To the bank' : 'From the bank'}</td>
                  <td className="wide">{kind}</td>
                  <td className="wide">
                    <ExactTime at={createdAt} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Stack>
    </Section>
  );
}
