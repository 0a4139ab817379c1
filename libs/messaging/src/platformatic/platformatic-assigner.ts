import type { GroupPartitionsAssigner } from '@platformatic/kafka';

/**
 * Gives partitions to the members in turn, in the order of their IDs, so that the same members get the same
 * partitions again. A member gets only topics that it reads: during an upgrade they may differ.
 */
export const assignInTurn: GroupPartitionsAssigner = (_current, members, topics, metadata) => {
  const sorted = [...members.values()].sort((a, b) => (a.memberId < b.memberId ? -1 : 1));
  const assigned = new Map(
    sorted.map(({ memberId }) => [
      memberId,
      new Map<string, { topic: string; partitions: number[] }>(),
    ]),
  );
  let turn = 0;
  for (const topic of topics) {
    const readers = sorted.filter((member) => member.topics?.includes(topic) ?? true);
    const count = metadata.topics.get(topic)?.partitionsCount ?? 0;
    for (let partition = 0; partition < count && readers.length > 0; partition += 1) {
      const { memberId } = readers[turn % readers.length] ?? { memberId: '' };
      turn += 1;
      const mine = assigned.get(memberId);
      const held = mine?.get(topic) ?? { topic, partitions: [] };
      held.partitions.push(partition);
      mine?.set(topic, held);
    }
  }
  return [...assigned].map(([memberId, assignments]) => ({ memberId, assignments }));
};
