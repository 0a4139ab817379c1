/**
 * Where personal data lies. A whole system does everything it can with parties whose fields can be found again.
 * Then every table, topic, log, trace and metric is searched, and everything that the keys open.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { startHttpsReceiver, until } from '@pis/local-servers/testing';
import { type Collector, startCollector } from './collector.js';
import {
  emptyTables,
  filePlaces,
  logPlaces,
  metricPlaces,
  type Places,
  tablePlaces,
  topicPlaces,
} from './everywhere.js';
import { livingKeys, openedPlaces } from './living-keys.js';
import { MarkerSearch } from './marker-search.js';
import { type Marker, markedCorrection, markedParty } from './markers.js';
import { forgetPassingRows, keepPassingRows } from './passing-rows.js';
import {
  correctedTag,
  deferredTag,
  everythingHappens,
  longTag,
  type RunOptions,
  streamIsQuarantined,
  wantedTag,
} from './personal-data-events.js';
import { canceledTag, linkTags, pageNamesNobody, userTag } from './personal-data-links.js';
import { holdingPlaces, mayBeEmpty } from './personal-data-places.js';
import { answering, MarkedRun } from './personal-data-run.js';
import { markedSettings } from './personal-data-settings.js';
import type { StartSystem, System } from './systems.js';
import { sendWrongInput } from './wrong-input.js';

const startLimitMs = 240_000;
const runLimitMs = 420_000;
const searchLimitMs = 120_000;
const erasureLimitMs = 420_000;
/** Each is a process. */
const erasuresAtOnce = 5;

export interface SearchOptions extends RunOptions {
  readonly start: StartSystem;
  readonly broker: 'embedded' | 'kafka';
}

export function searched({ start, broker, ...options }: SearchOptions): void {
  const bait = markedParty({ tag: 'bait', entityType: 'INDIVIDUAL' });
  const foreign = markedParty({ tag: 'foreign', entityType: 'INDIVIDUAL' });
  const correction = markedCorrection(correctedTag);
  /** Their payments are final. */
  const erasedContacts = [
    ...['ada', 'parked', deferredTag(options.deferred), 'omar', 'sven', 'inga', longTag],
    ...[correctedTag, wantedTag, ...linkTags],
  ];
  const folder = mkdtempSync(path.join(os.tmpdir(), 'pis-personal-data-'));
  let receiver: Awaited<ReturnType<typeof startHttpsReceiver>>;
  let collector: Collector;
  let system: System;
  let run: MarkedRun;
  let answers: readonly string[];

  beforeAll(async () => {
    receiver = await startHttpsReceiver({ respondWith: answering() });
    collector = await startCollector();
    system = await start(markedSettings({ receiver, collector, folder, correction }));
    await keepPassingRows(system.databaseUrl);
    run = new MarkedRun(system, receiver);
  }, startLimitMs);
  afterAll(async () => {
    await run?.close();
    await system?.stop();
    await receiver?.close();
    await collector?.close();
    rmSync(folder, { recursive: true, force: true });
  }, startLimitMs);

  it(
    'does everything that it can do with personal data',
    async () => {
      await everythingHappens(run, options);
      await streamIsQuarantined(run, foreign.fields);
      answers = await sendWrongInput(run, bait);
    },
    runLimitMs,
  );

  it('has used every table', async () => {
    const empty = await emptyTables(system.databaseUrl);
    expect(empty.filter((table) => !Object.hasOwn(mayBeEmpty, table))).toEqual([]);
  });

  it(
    'keeps personal data in the places that are meant to hold it, and account numbers in none',
    async () => {
      const places = await storedPlaces(system);
      const markers = [...run.markers, ...bait.markers, correction];
      expect(foundIn(places, markers)).toEqual(expectedPlaces(broker));
      // An event that somebody else wrote into a stream stays as it is, and only there.
      expect(foundIn(places, foreign.markers)).toEqual(
        ['account', 'details', 'name'].map((kind) => `events.data: ${kind}`),
      );
      // So that the search below would find what the keys still open.
      const opened = openedPlaces(places, await livingKeys(system));
      const isOpened = (tag: string, ...found: readonly string[]) =>
        expect([tag, foundIn(opened, run.markersOf(tag))]).toEqual([
          tag,
          expect.arrayContaining(found.map((one) => one.replace(':', ', opened:'))),
        ]);
      for (const tag of [...erasedContacts, 'otto', 'paul']) {
        isOpened(tag, 'events.data: name');
        // Nobody has entered one.
        if (tag !== canceledTag) isOpened(tag, 'events.data: account');
      }
      for (const tag of linkTags) isOpened(tag, 'payment_link_accesses.sealed: visitor');
      expect(fieldsIn(opened, run.secrets)).toEqual([
        'events.data, opened: email of selma',
        'events.data, opened: email of ursula',
        // Of their sign-ins.
        'events.data, opened: ip of selma',
        'events.data, opened: ip of ursula',
        ...linkTags.map((tag) => `events.data, opened: token of ${tag}`).toSorted(),
        'events.data, opened: userAgent of selma',
        'events.data, opened: userAgent of ursula',
        // Of what they did.
        'events.metadata, opened: ip of selma',
        'events.metadata, opened: ip of ursula',
        'user_sessions.sealed_client, opened: ip of selma',
        'user_sessions.sealed_client, opened: ip of ursula',
        'user_sessions.sealed_client, opened: userAgent of selma',
        'user_sessions.sealed_client, opened: userAgent of ursula',
      ]);
      for (const tag of ['ada', 'omar', 'sven', 'inga', 'otto', 'paul', 'oscar', 'lena', 'lise'])
        isOpened(tag, 'rail_file_parts.sealed: account');
      expect(foundIn(opened, [correction])).toEqual(
        expect.arrayContaining(['ach_feed.corrected, opened: declared']),
      );
    },
    searchLimitMs,
  );

  it(
    'erases persons from everything but Kafka, and nobody else',
    async () => {
      for (const tag of erasedContacts) await run.isDone(tag);
      for (const tag of ['oscar', 'oona']) await run.isDone(tag);
      const orders = [
        ...erasedContacts.map((tag) => ['contact', tag] as const),
        ['originator', 'otto'] as const,
      ];
      for (let from = 0; from < orders.length; from += erasuresAtOnce)
        await Promise.all(
          orders.slice(from, from + erasuresAtOnce).map(([kind, tag]) => run.erase(kind, tag)),
        );
      await run.eraseUser(userTag);
      await forgetPassingRows(system.databaseUrl);
      const ofUser = run.secrets.filter(({ tag }) => tag === userTag);
      const erased = [...erasedContacts, 'otto'].flatMap((tag) => run.markersOf(tag));
      const kept = run.markers.filter((marker) => !erased.includes(marker));
      const found = async () => {
        const places = await tableAndLogPlaces(system);
        const opened = openedPlaces(places, await livingKeys(system));
        return [
          ...fieldsIn(places, erased),
          ...fieldsIn(opened, [...erased, ...ofUser, correction]),
        ];
      };
      await until(async () => (await found()).length === 0, {
        timeoutMs: searchLimitMs,
        everyMs: 1_000,
      }).catch(async () => expect(await found()).toEqual([]));
      const places = await storedPlaces(system);
      expect(foundIn(places, [...kept, ...bait.markers])).toEqual(
        expectedPlaces(broker).filter((place) => !place.endsWith('declared')),
      );
      expect(foundIn(places, [correction])).toEqual(['bank_notifications.corrected: declared']);
      const opened = openedPlaces(places, await livingKeys(system));
      // Messages that name otto, too, are lost: nora's and paul's do not.
      for (const tag of ['nora', 'paul'])
        expect([tag, foundIn(opened, run.markersOf(tag))]).toEqual([
          tag,
          expect.arrayContaining(['rail_file_parts.sealed, opened: account']),
        ]);
      for (const tag of erasedContacts) await run.showsErased(tag);
      for (const tag of linkTags) await pageNamesNobody(run, tag);
    },
    erasureLimitMs,
  );

  it(
    'says no personal data in logs, traces, metrics, notices to staff, files and answers to wrong requests',
    async () => {
      const places = new Map([...(await metricPlaces(system)), ...filePlaces(system)]);
      // The last log lines and spans come while it ends.
      await run.close();
      await system.stop();
      places.set('logs', system.logs());
      places.set('stdout', system.stdout());
      places.set('traces', collector.text());
      places.set('answers', answers.join('\n'));
      const markers = [...run.markers, ...bait.markers, ...foreign.markers, correction];
      expect(foundIn(places, markers)).toEqual([]);
      // Something of each is there. Only names are compared: the texts have many megabytes.
      const expected = [
        ...['POST /v1/payments', 'process pis.', 'webhook attempt', 'POST /pay/:token'].map(
          (span) => ['traces', `"${span}`] as const,
        ),
        ['traces', '"kind":"in_flight"'],
        ['logs', '"level":"debug"'],
        ['/metrics', 'pis_'],
      ] as const;
      const has = ([place, text]: (typeof expected)[number]) => places.get(place)?.includes(text);
      expect(expected.filter((one) => has(one) !== true)).toEqual([]);
    },
    searchLimitMs,
  );
}

/** What a system stores: tables, the log, topics. */
async function storedPlaces(system: System): Promise<Places> {
  return new Map([...(await tableAndLogPlaces(system)), ...(await topicPlaces(system))]);
}

/** Without what Kafka keeps until the end of its retention. */
async function tableAndLogPlaces(system: System): Promise<Places> {
  return new Map([...(await tablePlaces(system.databaseUrl)), ...(await logPlaces(system))]);
}

function expectedPlaces(broker: 'embedded' | 'kafka'): readonly string[] {
  return holdingPlaces
    .filter(({ broker: only = broker }) => only === broker)
    .flatMap(({ place, kinds }) => kinds.map((kind) => `${place}: ${kind}`))
    .sort();
}

/** `place: kind` for each kind of personal data that a place holds, sorted. */
function foundIn(places: Places, markers: readonly Marker[]): readonly string[] {
  return eachFound(places, markers, ({ kind }) => kind);
}

/** `place: field of somebody`, sorted. */
function fieldsIn(places: Places, markers: readonly Marker[]): readonly string[] {
  return eachFound(places, markers, ({ field, tag }) => `${field} of ${tag}`);
}

function eachFound(
  places: Places,
  markers: readonly Marker[],
  nameOf: (marker: Marker) => string,
): readonly string[] {
  const search = new MarkerSearch(markers);
  const found = [...places].flatMap(([place, text]) =>
    search.in(text).map((marker) => `${place}: ${nameOf(marker)}`),
  );
  return [...new Set(found)].sort();
}
