import { generator } from '@pis/local-servers/testing';
import { railName, railText } from './characters.js';
import { isoRails } from './messages.js';
import { identityProblem } from './profile.js';
import { profileOf } from './profiles.js';
import { readIsoMessage } from './read-messages.js';
import {
  anyText,
  isoSender,
  randomTransfer,
  sampleMessages,
  sampleTransfer,
} from './testing/sample-messages.js';
import { writeIsoMessage } from './write-messages.js';

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

describe.each(isoRails)('messages of %s', (rail) => {
  const profile = profileOf(rail);

  it.each(sampleMessages(rail).map((message) => [message.type, message] as const))(
    'writes a %s that reads back as the same message',
    (type, message) => {
      const bytes = writeIsoMessage(profile, isoSender, message);
      expect(readIsoMessage(bytes)).toEqual({ name: profile.versions[type], message });
    },
  );

  it('writes the same message to the same bytes', () => {
    const write = () => text(writeIsoMessage(profile, isoSender, sampleTransfer(rail)));
    expect(write()).toBe(write());
  });

  it('carries any transfer: names, addresses and notes of any Unicode, amounts of any size', () => {
    const random = generator(20_261_122);
    for (let run = 0; run < 300; run += 1) {
      const transfer = randomTransfer(rail, random);
      const { message } = readIsoMessage(writeIsoMessage(profile, isoSender, transfer));
      expect(message).toEqual(transfer);
    }
  });
});

/** The forms that the rails' usage guidelines give their identifiers (docs/rails-iso20022.md). */
describe('identifiers', () => {
  it.each([
    ['FEDNOW', /^\d{8}[A-Za-z0-9]{9}[A-Za-z0-9]{1,18}$/],
    ['RTP', /^M\d{8}[A-Z0-9]{11}[A-Z0-9]{15}$/],
    ['FEDWIRE', /^\d{8}[A-Z0-9]{8}\d{6}$/],
    ['SWIFT', /^[A-Z0-9]{1,35}$/],
  ] as const)('of messages on %s have the form %s', (rail, form) => {
    for (const { messageId } of sampleMessages(rail)) {
      expect(messageId).toMatch(form);
      expect(messageId.length).toBeLessThanOrEqual(35);
    }
  });

  it.each([
    ['FEDNOW', /^[A-Z0-9]{16}$/],
    ['RTP', /^\d{8}[A-Z0-9]{11}[A-Z0-9]{16}$/],
    ['FEDWIRE', /^[A-Z0-9]{16}$/],
    ['SWIFT', /^[A-Z0-9]{16}$/],
  ] as const)('of instructions on %s have the form %s', (rail, form) => {
    expect(sampleTransfer(rail).instructionId).toMatch(form);
  });

  it('say date and time as the rail does', () => {
    const at = new Date('2026-11-23T15:30:00.123Z');
    expect(profileOf('RTP').dateTime(at)).toBe('2026-11-23T10:30:00');
    for (const rail of ['FEDNOW', 'FEDWIRE', 'SWIFT'] as const)
      expect(profileOf(rail).dateTime(at)).toBe('2026-11-23T15:30:00.123+00:00');
  });
});

describe('the identity of our bank', () => {
  const identity = { routingNumber: '021000021', bic: null, participantId: null };
  it.each([
    ['FEDNOW', {}, null],
    ['RTP', { participantId: '021000021S1' }, null],
    ['RTP', { participantId: 'B1QDRCQR' }, /11 capital letters/],
    ['FEDWIRE', { participantId: 'B1QDRCQR' }, null],
    ['FEDWIRE', { participantId: 'b1qdrcqr' }, /8 capital letters/],
    ['FEDNOW', { routingNumber: '' }, /routingNumber/],
    ['SWIFT', {}, /bic/],
    ['SWIFT', { bic: 'AAAAUS33' }, null],
  ] as const)('on %s with %j has the problem %s', (rail, changes, problem) => {
    const found = identityProblem(profileOf(rail), { ...identity, ...changes });
    if (problem === null) expect(found).toBeNull();
    else expect(found).toMatch(problem);
  });
});

describe('text for the rails', () => {
  it.each([
    ['Müller & Söhne GmbH', 'Muller & Sohne GmbH'],
    ['Straße “Zum Ł”', 'Strasse "Zum L"'],
    ['ΑΘΗΝΑ Ωμέγα', 'AThINA Omega'],
    ['Щербаков Юрий', 'Shcherbakov Yurii'],
    ['a\u0000b\nc\u200bd', 'ab cd'],
    ['小林', '..'],
    ['  two   spaces ', 'two spaces'],
    ['Ø – Å', 'O - A'],
  ])('spells %j as %j', (given, spelled) => {
    expect(railText(given, 140)).toBe(spelled);
  });

  it('has no name where no letter or digit is left', () => {
    expect(railName('小林')).toBeNull();
    expect(railName('   ')).toBeNull();
    expect(railName('小林 A')).toBe('.. A');
  });

  it('is printable ASCII within its length, whatever is given', () => {
    const random = generator(7);
    for (let run = 0; run < 2_000; run += 1) {
      const out = railText(anyText(random, 300), 1 + random(150));
      expect(out).toMatch(/^[\x20-\x7e]{0,150}$/);
      expect(out).toBe(out.trim());
    }
  });
});
