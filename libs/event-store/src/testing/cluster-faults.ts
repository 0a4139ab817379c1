/** Tests of an EventStoreDB adapter while the nodes of a cluster come and go. Every adapter passes them. */
import { until } from '@pis/local-servers/testing';
import { type EventStore, StoreUnavailable } from '../port.js';
import { eventToAppend, follow, testTimeoutMs, unique } from './conformance-kit.js';
import {
  type EventStoreDbStandIn,
  type EventStoreDbStandInCluster,
  startEventStoreDbStandInCluster,
} from './eventstoredb-stand-in.js';
import type { OpenEventStoreDb } from './server-faults.js';

const timeoutMs = 20_000;

export function clusterFaults(open: OpenEventStoreDb): void {
  let cluster: EventStoreDbStandInCluster;
  let store: EventStore;
  // Jest fails a test in which a rejection is not handled.
  beforeEach(async () => {
    cluster = await startEventStoreDbStandInCluster();
    store = open({
      connectionString: `${cluster.url}&discoveryInterval=10&maxDiscoverAttempts=3`,
      appendTimeoutMs: 1_000,
      readTimeoutMs: 1_000,
    });
  });
  afterEach(async () => {
    await store.close();
    await cluster.stop();
  });

  const node = (index: number): EventStoreDbStandIn => {
    const found = cluster.nodes[index];
    if (found === undefined) throw new RangeError('no such node');
    return found;
  };
  const kill = (index: number) => {
    node(index).refuseConnections(true);
    node(index).cutConnections();
  };
  const revive = (index: number) => node(index).refuseConnections(false);
  const append = (target = store) =>
    target.append(`payment-${unique()}`, 'noStream', [eventToAppend()]);

  it(
    'reports StoreUnavailable while no node leads, and continues by itself once one does',
    async () => {
      const follower = follow(store, { after: '', streamPrefixes: ['payment-'] });
      await append();
      await until(() => follower.events.length === 1, { timeoutMs });
      cluster.elect(null);
      kill(0);
      kill(1);
      for (let tries = 0; tries < 5; tries += 1) {
        await expect(append()).rejects.toBeInstanceOf(StoreUnavailable);
        await expect(store.readStream('payment-1')).rejects.toBeInstanceOf(StoreUnavailable);
      }
      revive(1);
      cluster.elect(node(2));
      await until(() => append(), { timeoutMs });
      await until(() => follower.events.length >= 2, { timeoutMs });
      await follower.stop();
    },
    testTimeoutMs,
  );

  it(
    'does not end the process when every node is gone and discovery keeps failing',
    async () => {
      const follower = follow(store, { after: '', streamPrefixes: ['payment-'] });
      await append();
      await until(() => follower.events.length === 1, { timeoutMs });
      cluster.elect(null);
      for (const index of [0, 1, 2]) kill(index);
      for (let round = 0; round < 3; round += 1) {
        const calls = [append(), append(), store.readStream('payment-1'), store.ping()];
        for (const outcome of await Promise.allSettled(calls))
          expect(outcome).toMatchObject({ reason: { name: 'StoreUnavailable' } });
      }
      for (const index of [0, 1, 2]) revive(index);
      cluster.elect(node(1));
      await until(() => append(), { timeoutMs });
      await until(() => follower.events.length >= 2, { timeoutMs });
      await follower.stop();
    },
    testTimeoutMs,
  );

  it(
    'does not end the process when a call fails while others find no node',
    async () => {
      const slow = open({ connectionString: `${cluster.url}&discoveryInterval=100` });
      const follower = follow(slow, { after: '', streamPrefixes: ['payment-'] });
      await append(slow);
      await until(() => follower.events.length === 1, { timeoutMs });
      let hangs = false;
      node(0).faults.read = (streamId) => {
        hangs ||= streamId.endsWith('payment-hangs');
        return streamId.endsWith('payment-hangs') ? 'hang' : null;
      };
      const hanging = slow.readStream('payment-hangs');
      hanging.catch(() => undefined);
      await until(() => hangs, { timeoutMs });
      for (const { refuseConnections } of cluster.nodes) refuseConnections(true);
      node(0).endSubscriptions('unavailable');
      // The subscription is looking for a node.
      await until(() => cluster.nodes.some((one) => one.refusals() > 0), { timeoutMs });
      node(0).cutConnections();
      await expect(hanging).rejects.toBeInstanceOf(StoreUnavailable);
      await expect(slow.ping()).rejects.toBeInstanceOf(StoreUnavailable);
      for (const { refuseConnections } of cluster.nodes) refuseConnections(false);
      await until(() => append(slow), { timeoutMs });
      await until(() => follower.events.length >= 2, { timeoutMs });
      await follower.stop();
      await slow.close();
    },
    testTimeoutMs,
  );

  it(
    'reads acknowledged events from the leader, even if it found a follower first',
    async () => {
      cluster.elect(null);
      await expect(store.ping()).rejects.toBeInstanceOf(StoreUnavailable);
      cluster.elect(node(0));
      node(1).lag();
      node(2).lag();
      const other = open({ connectionString: node(0).url });
      for (let count = 0; count < 10; count += 1) {
        const streamId = `payment-${unique()}`;
        const { position } = await other.append(streamId, 'noStream', [eventToAppend()]);
        const read = await until(() => store.readStream(streamId), { timeoutMs });
        expect(read).toHaveLength(1);
        expect(await store.lastPosition()).toBe(position);
      }
      await other.close();
    },
    testTimeoutMs,
  );

  it.each(['leader', 'follower', 'random'])(
    'moves to a new leader within the call (nodePreference=%s)',
    async (preference) => {
      const moving = open({
        connectionString: `${cluster.url}&nodePreference=${preference}`,
      });
      const follower = follow(moving, { after: '', streamPrefixes: ['payment-'] });
      for (const leader of [1, 2, 0, 1]) {
        cluster.elect(node(leader));
        for (const index of [0, 1, 2]) if (index !== leader) node(index).lag();
        node(leader).catchUp();
        const { position } = await append(moving);
        expect(await moving.lastPosition()).toBe(position);
      }
      // The subscription moved with the connection: the former nodes have received nothing since.
      await until(() => follower.events.length === 4, { timeoutMs });
      await follower.stop();
      await moving.close();
    },
    testTimeoutMs,
  );

  it(
    'leaves a leader that hangs',
    async () => {
      await append();
      node(0).faults.append = () => 'hang';
      node(0).faults.read = () => 'hang';
      cluster.elect(node(1));
      await until(() => append(), { timeoutMs });
      expect(node(1).answered()).toBeGreaterThan(0);
    },
    testTimeoutMs,
  );
}
